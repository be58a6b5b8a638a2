#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "store/json_text.hpp"
#include "store/timeline_export.hpp"

namespace ccl {
namespace {

/// Tracks of a rank, in the order they are shown. Communication has one by dimension.
enum Track : int { forwards = 1, backwards = 2, compute = 3, memory = 4, communication = 10 };

std::string track_name(int track) {
  switch (track) {
    case forwards: return "micro-batches: forward";
    case backwards: return "micro-batches: backward";
    case compute: return "compute";
    case memory: return "copies";
    default: break;
  }
  const auto dimension = static_cast<Dimension>(track - communication);
  return dimension == Dimension::unknown ? "communication" : "communication: " + std::string(to_text(dimension));
}

int track_of(const EventRow& row) {
  if (row.kind == EventKind::compute) return compute;
  if (row.kind == EventKind::communication) return communication + static_cast<int>(row.dimension);
  return memory;
}

/// Between quotes, cut to a length that reads well. Half a character at the cut is no UTF-8 and becomes U+FFFD.
std::string quoted(std::string_view text) {
  constexpr std::size_t most = 120;
  return JsonText().text(text.substr(0, most)).take();
}

/// ns as the microseconds of a Chrome trace.
std::string micro(std::int64_t ns) {
  const char* sign = ns < 0 ? "-" : "";
  const std::int64_t size = ns < 0 ? -ns : ns;
  return fmt::format("{}{}.{:03}", sign, size / 1000, size % 1000);
}

struct Slice {
  std::int64_t start_ns = 0, end_ns = 0;
  std::string name, args;
};

class RankText {
 public:
  RankText(const TimelineInput& input, std::size_t trace, const ModelGroups& groups, const std::vector<bool>& shown,
           const std::vector<std::int64_t>& origin_ns)
      : input_(input),
        rows_(input.events[trace]),
        window_(input.windows[trace]),
        shown_(shown),
        origin_ns_(origin_ns),
        row_(rows_.front().rank_row),
        entry_(input.ranks.entries[static_cast<std::size_t>(row_)]),
        place_(groups.of(entry_.rank)),
        merge_below_ns_(input.config.timeline_export.merge_below_ns) {}

  std::string text() {
    name_process();
    micro_batches();
    std::map<int, std::vector<const EventRow*>> tracks;
    for (const EventRow& row : rows_)
      if (in_window(row)) tracks[track_of(row)].push_back(&row);
    for (const auto& [track, rows] : tracks) events(track, rows);
    return std::move(out_);
  }

 private:
  bool in_window(const EventRow& row) const { return ccl::in_window(input_.config, window_, row); }

  std::int64_t shown_ns(std::int64_t trace_ns) const {
    const std::int64_t at = entry_.host_index < 0 ? trace_ns : input_.clock.corrected(entry_.host_index, trace_ns);
    return at - origin_ns_[static_cast<std::size_t>(row_)];
  }

  void name_process() {
    std::string name;
    if (place_.replica >= 0) name += fmt::format("model {} ", place_.replica);
    if (place_.pipeline >= 0) name += fmt::format("pipeline {} stage {} ", place_.pipeline, place_.stage);
    name += fmt::format("rank {}", entry_.rank.value);
    if (entry_.replica >= 0) name += fmt::format(" of replica {}", entry_.replica);
    if (entry_.iteration >= 0) name += fmt::format(" (iteration {})", entry_.iteration);
    const auto event = [&](const char* kind, const std::string& args) {
      out_ += fmt::format("{{\"ph\":\"M\",\"name\":\"{}\",\"pid\":{},\"args\":{{{}}}}},\n", kind, pid(), args);
    };
    event("process_name", "\"name\":" + quoted(name));
    event("process_labels", "\"labels\":" + quoted(entry_.host));
    event("process_sort_index", fmt::format("\"sort_index\":{}", sort_index()));
  }

  // Iterations apart; in each by model replica, pipeline, stage.
  std::int64_t sort_index() const {
    std::int64_t before = 0;
    const std::size_t ranks = std::max<std::size_t>(input_.ranks.entries.size(), 1);
    for (std::size_t row = 0; row < static_cast<std::size_t>(row_); ++row)
      if (input_.ranks.entries[row].iteration != entry_.iteration) ++before;
    return before + (std::int64_t{place_.replica} + 1) * static_cast<std::int64_t>(ranks) * 1000 +
           (std::int64_t{place_.pipeline} + 1) * 1000 + place_.stage + 1;
  }

  std::int32_t pid() const { return row_ + 1; }
  static int tid(int track, std::size_t lane) { return track * 100 + static_cast<int>(lane); }

  void name_thread(int track, std::size_t lane) {
    const std::string name = track_name(track) + (lane == 0 ? "" : fmt::format(" ({})", lane + 1));
    out_ += fmt::format("{{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":{},\"tid\":{},\"args\":{{\"name\":{}}}}},\n",
                        pid(), tid(track, lane), quoted(name));
    out_ += fmt::format(
        "{{\"ph\":\"M\",\"name\":\"thread_sort_index\",\"pid\":{},\"tid\":{},\"args\":{{\"sort_index\":{}}}}},\n",
        pid(), tid(track, lane), tid(track, lane));
  }

  /// Slices of one track do not overlap: a second one in the same time goes to a lane of its own.
  std::size_t lane_for(int track, std::vector<std::int64_t>& ends, std::int64_t start_ns, std::int64_t end_ns) {
    std::size_t lane = 0;
    while (lane < ends.size() && ends[lane] > start_ns) ++lane;
    if (lane == ends.size()) ends.push_back(0), name_thread(track, lane);
    ends[lane] = end_ns;
    return lane;
  }

  std::size_t put(int track, std::vector<std::int64_t>& ends, const Slice& slice) {
    const std::size_t lane = lane_for(track, ends, slice.start_ns, slice.end_ns);
    const std::int64_t start = shown_ns(slice.start_ns);
    out_ += fmt::format("{{\"ph\":\"X\",\"pid\":{},\"tid\":{},\"ts\":{},\"dur\":{},\"name\":{},\"args\":{{{}}}}},\n",
                        pid(), tid(track, lane), micro(start), micro(slice.end_ns - slice.start_ns), quoted(slice.name),
                        slice.args);
    return lane;
  }

  void micro_batches() {
    using Key = std::tuple<bool, std::int64_t, std::int32_t, std::int32_t, Direction>;
    std::map<Key, std::pair<std::int64_t, std::int64_t>> hulls;
    bool chunks = false;
    for (const EventRow& row : rows_) {
      if (row.microbatch < 0 || row.kind != EventKind::compute || !in_window(row)) continue;
      chunks |= row.chunk > 0;
      const bool backward = row.direction != Direction::forward;
      const auto [at, added] = hulls.try_emplace({backward, row.step, row.microbatch, row.chunk, row.direction},
                                                 row.start_ns, row.end_ns());
      at->second.first = std::min(at->second.first, row.start_ns);
      at->second.second = std::max(at->second.second, row.end_ns());
    }
    std::vector<std::pair<Slice, bool>> slices;
    for (const auto& [key, hull] : hulls) {
      const auto& [backward, step, number, chunk, direction] = key;
      const char* letter = direction == Direction::forward ? "F" : direction == Direction::backward ? "B" : "W";
      const std::string name =
          chunks && chunk >= 0 ? fmt::format("{}{}.{}", letter, number, chunk) : fmt::format("{}{}", letter, number);
      slices.push_back({{hull.first, hull.second, name,
                         fmt::format("\"step\":{},\"microbatch\":{},\"virtual_stage\":{}", step, number, chunk)},
                        backward});
    }
    std::stable_sort(slices.begin(), slices.end(),
                     [](const auto& a, const auto& b) { return a.first.start_ns < b.first.start_ns; });
    std::vector<std::int64_t> ends[2];
    for (const auto& [slice, backward] : slices) put(backward ? backwards : forwards, ends[backward ? 1 : 0], slice);
  }

  void events(int track, const std::vector<const EventRow*>& rows) {
    std::vector<std::int64_t> ends;
    for (std::size_t i = 0; i < rows.size();) {
      const std::size_t next = end_of_tiny(rows, i);
      if (next - i > 1) {
        std::int64_t end = 0, sum = 0;
        for (std::size_t k = i; k < next; ++k) end = std::max(end, rows[k]->end_ns()), sum += rows[k]->dur_ns;
        put(track, ends, {rows[i]->start_ns, end, fmt::format("{} short ones", next - i),
                          fmt::format("\"events\":{},\"sum_ns\":{}", next - i, sum)});
      } else {
        const std::size_t lane = put(track, ends, slice_of(*rows[i]));
        arrow(*rows[i], track, lane);
      }
      i = std::max(next, i + 1);
    }
  }

  /// One past the run of neighbours at i that are shorter, and no further apart, than the limit. Collectives that were
  /// matched stay apart.
  std::size_t end_of_tiny(const std::vector<const EventRow*>& rows, std::size_t i) const {
    std::size_t next = i;
    while (next < rows.size() && rows[next]->dur_ns < merge_below_ns_ && verdict(*rows[next]) == nullptr &&
           (next == i || rows[next]->start_ns - rows[next - 1]->end_ns() < merge_below_ns_))
      ++next;
    return next;
  }

  const RecordVerdict* verdict(const EventRow& row) const {
    if (row.record < 0 || static_cast<std::size_t>(row.record) >= input_.verdicts.size()) return nullptr;
    const RecordVerdict& found = input_.verdicts[static_cast<std::size_t>(row.record)];
    return found.last_rank < 0 || found.transfer_ns < 0 ? nullptr : &found;
  }

  Slice slice_of(const EventRow& row) const {
    Slice out{row.start_ns, row.end_ns(), std::string(input_.strings.text(row.name)), ""};
    out.args = fmt::format("\"category\":\"{}\",\"phase\":\"{}\",\"step\":{},\"stream\":{}", to_text(row.category),
                           to_text(row.phase), row.step, row.stream);
    if (row.microbatch >= 0) out.args += fmt::format(",\"microbatch\":{},\"virtual_stage\":{}", row.microbatch, row.chunk);
    if (row.record < 0 || static_cast<std::size_t>(row.record) >= input_.records.size()) return out;
    const CollectiveRecord& record = input_.records[static_cast<std::size_t>(row.record)];
    out.name = std::string(to_text(row.op));
    const std::int32_t group = input_.groups.row_of(record.group);
    if (group >= 0) {
      const Group& of = input_.groups.groups[static_cast<std::size_t>(group)];
      out.args += fmt::format(",\"group\":{},\"group_size\":{}", quoted(of.description.empty() ? of.name : of.description), of.size);
    }
    if (record.peer >= 0) out.args += fmt::format(",\"peer\":{}", record.peer);
    if (record.in_bytes >= 0) out.args += fmt::format(",\"in_bytes\":{}", record.in_bytes);
    if (const RecordVerdict* found = verdict(row))
      out.args += fmt::format(",\"last_rank\":{},\"lag_us\":{},\"wait_us\":{},\"transfer_us\":{}", found->last_rank,
                              micro(found->lag_ns), micro(row.dur_ns - found->transfer_ns), micro(found->transfer_ns));
    return out;
  }

  /// From where the last rank arrived to where this one's wait ends.
  void arrow(const EventRow& row, int track, std::size_t lane) {
    const RecordVerdict* found = verdict(row);
    if (found == nullptr || found->last_rank == entry_.rank.value || found->last_start_ns == absent_ns) return;
    if (row.dur_ns - found->transfer_ns < std::max<std::int64_t>(merge_below_ns_, 1000)) return;
    const std::int32_t last = input_.ranks.find(entry_.iteration, entry_.replica, RankId(found->last_rank));
    if (last < 0 || !shown_[static_cast<std::size_t>(last)]) return;
    const std::int64_t from = found->last_start_ns - origin_ns_[static_cast<std::size_t>(last)];
    const std::int64_t until = shown_ns(row.end_ns());
    if (until <= from + 1) return;  // on clocks that are not common it would point into the past
    const std::string id = fmt::format("\"id\":{},\"cat\":\"last\",\"name\":\"last to arrive\"",
                                       (std::int64_t{row_} + 1) * 100'000'000 + arrows_count_++);
    out_ += fmt::format("{{\"ph\":\"s\",{},\"pid\":{},\"tid\":{},\"ts\":{}}},\n", id, last + 1, tid(track, 0), micro(from + 1));
    out_ += fmt::format("{{\"ph\":\"f\",\"bp\":\"e\",{},\"pid\":{},\"tid\":{},\"ts\":{}}},\n", id, pid(),
                        tid(track, lane), micro(until - 1));
  }

  const TimelineInput& input_;
  const std::vector<EventRow>& rows_;
  const Interval window_;
  const std::vector<bool>& shown_;
  const std::vector<std::int64_t>& origin_ns_;
  const std::int32_t row_;
  const RankEntry& entry_;
  const ModelPlace place_;
  const std::int64_t merge_below_ns_;
  std::int64_t arrows_count_ = 0;
  std::string out_;
};

}  // namespace

std::string timeline_text(const TimelineInput& input, std::size_t trace, const ModelGroups& groups,
                          const std::vector<bool>& shown, const std::vector<std::int64_t>& origin_ns) {
  return RankText(input, trace, groups, shown, origin_ns).text();
}

}  // namespace ccl
