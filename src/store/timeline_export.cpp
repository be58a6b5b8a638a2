#include "store/timeline_export.hpp"

#include <algorithm>
#include <map>

#include "core/problems.hpp"
#include "core/wide.hpp"
#include "core/wording.hpp"
#include "exchange/clock_error.hpp"
#include "store/gzip_pieces.hpp"
#include "store/json_text.hpp"
#include "store/text_file.hpp"

namespace ccl {
namespace {

/// By how much the first events of ranks are apart where a host shares no clock with the others; 0: all do.
std::int64_t apart_without_clock_ns(const Ranks& ranks, const ClockModel& clock) {
  if (std::ranges::find(clock.hosts, false, &HostClock::corrected) == clock.hosts.end()) return 0;
  std::int64_t first = INT64_MAX, last = INT64_MIN;
  for (const RankEntry& entry : ranks.entries) {
    if (entry.facts.first_ns == absent_ns || entry.host_index < 0) continue;
    const std::int64_t at = clock.corrected(entry.host_index, entry.facts.first_ns);
    first = std::min(first, at), last = std::max(last, at);
  }
  return last < first ? 0 : static_cast<std::int64_t>(std::min<Wide>(static_cast<Wide>(last) - first, INT64_MAX));
}

/// Why each rank is shown from its own first event though one clock is asked for; empty: it is not.
std::string why_own_clocks(const Config& config, const Ranks& ranks, const ClockModel& clock) {
  constexpr std::int64_t hour_ns = 3'600'000'000'000;
  if (config.timeline_export.alignment != "global") return "";
  const std::int64_t apart_ns = apart_without_clock_ns(ranks, clock);
  return apart_ns <= hour_ns ? clock_error_text(ranks, clock)
                             : "hosts without a common clock begin " + milliseconds(static_cast<double>(apart_ns)) + " apart";
}

/// "global", or "individual" where that is asked for or no common clock is known: ranks would lie years apart.
std::string alignment_of(const TimelineInput& input) {
  return why_own_clocks(input.config, input.ranks, input.clock).empty() ? input.config.timeline_export.alignment : "individual";
}

/// Time 0 of each row of /ranks on the corrected clock: the first event of all shown ranks, or the rank's own.
std::vector<std::int64_t> origins(const TimelineInput& input, const std::vector<bool>& shown) {
  std::vector<std::int64_t> own;
  std::int64_t first = INT64_MAX;
  for (std::size_t row = 0; row < input.ranks.entries.size(); ++row) {
    const RankEntry& entry = input.ranks.entries[row];
    const std::int64_t at = entry.facts.first_ns;
    own.push_back(at == absent_ns || entry.host_index < 0 ? at : input.clock.corrected(entry.host_index, at));
    if (shown[row] && at != absent_ns) first = std::min(first, own.back());
  }
  if (alignment_of(input) == "global") own.assign(own.size(), first == INT64_MAX ? 0 : first);
  return own;
}

std::string head(const TimelineInput& input, const ModelGroups& groups, const std::vector<bool>& shown,
                 const std::vector<std::int64_t>& origin_ns) {
  const TimelineExportConfig& config = input.config.timeline_export;
  JsonText other;
  other.open('{');
  other.key("program").text("ccl-analyze");
  const bool global = alignment_of(input) == "global";
  const std::string why_own = why_own_clocks(input.config, input.ranks, input.clock);
  other.key("alignment").text(global ? "global" : "individual");
  other.key("clock").text(global ? "common clock of all hosts, from the first GPU event shown"
                                 : "each rank from its own first GPU event" + (why_own.empty() ? "" : ": " + why_own));
  if (global) {
    std::int64_t origin = 0;
    for (std::size_t row = 0; row < shown.size(); ++row)
      if (shown[row]) origin = origin_ns[row];
    other.key("origin_ns").integer(origin);
  }
  other.key("clock_residual_ns").integer(input.clock.residual_ns);
  other.key("window_start").text(input.config.window_start.empty() ? "first event" : input.config.window_start);
  other.key("window_end").text(input.config.window_end.empty() ? "last event" : input.config.window_end);
  other.key("merge_below_ns").integer(config.merge_below_ns);
  other.key("ranks_shown").integer(std::count(shown.begin(), shown.end(), true));
  other.key("ranks_present").integer(static_cast<std::int64_t>(shown.size()));
  other.key("pipelines_from").text(groups.pipelines_source);
  other.key("model_replicas_from").text(groups.replicas_source);
  other.close('}');
  return "{\"displayTimeUnit\":\"ms\",\"otherData\":" + other.take() + ",\"traceEvents\":[\n";
}

GzipPiece piece_of(const std::string& text, bool packed) {
  return packed ? gzip_piece(text) : GzipPiece{text, 0, static_cast<std::int64_t>(text.size())};
}

bool any_event_shown(const TimelineInput& input, const std::vector<bool>& shown, const Comm& comm) {
  bool any = false;
  for (std::size_t trace = 0; trace < input.events.size() && !any; ++trace)
    any = std::any_of(input.events[trace].begin(), input.events[trace].end(), [&](const EventRow& row) {
      return shown[static_cast<std::size_t>(row.rank_row)] && in_window(input.config, input.windows[trace], row);
    });
  return comm.max(any ? 1 : 0) == 1;
}

/// Why there is nothing to show, and the option that leaves it out; empty if there is something. Collective.
std::string nothing_to_show(const TimelineInput& input, const std::vector<bool>& shown, const Comm& comm) {
  const Config& config = input.config;
  if (std::find(shown.begin(), shown.end(), true) == shown.end())
    return config.timeline_export.ranks.empty() ? "rank to show (every model replica lacks a rank). See --incomplete-groups."
                                                : "rank to show (no trace of the ranks asked for). See --timeline-ranks.";
  const bool whole = config.window_start.empty() && config.window_end.empty();
  if (whole || any_event_shown(input, shown, comm)) return "";
  std::string window;
  if (!config.window_start.empty()) window += " --start " + config.window_start;
  if (!config.window_end.empty()) window += " --end " + config.window_end;
  return "event to show (none of a shown rank is within" + window + ")";
}

Bytes pack(const std::map<std::int32_t, GzipPiece>& pieces) {
  ByteWriter out;
  for (const auto& [row, piece] : pieces) {
    out.value(row);
    out.value(piece.crc);
    out.value(piece.plain_bytes);
    out.text(piece.bytes);
  }
  return out.take();
}

}  // namespace

std::string own_clocks_line(const Config& config, const Ranks& ranks, const ClockModel& clock) {
  const std::string why = why_own_clocks(config, ranks, clock);
  return why.empty() ? "" : "timeline: each rank begins at 0: " + why + "\n";
}

bool in_window(const Config& config, Interval window, const EventRow& row) {
  const bool asked = row.step != outside_step || config.input.steps.empty();
  return asked && row.end_ns() > window.start_ns && row.start_ns < window.end_ns;
}

std::vector<bool> shown_ranks(const Ranks& ranks, const ModelGroups& groups, const TimelineExportConfig& config) {
  std::vector<bool> shown;
  for (const RankEntry& entry : ranks.entries) {
    const auto& chosen = config.ranks;
    const bool asked = chosen.empty() || std::find(chosen.begin(), chosen.end(), entry.rank.value) != chosen.end();
    const ModelPlace place = groups.of(entry.rank);
    const bool whole = place.replica < 0 || place.replica_complete;
    // Ranks asked for by number are shown whatever is missing around them.
    shown.push_back(asked && (whole || config.incomplete_groups || !chosen.empty()));
  }
  return shown;
}

bool write_timeline(const TimelineInput& input, const Comm& comm) {
  const TimelineExportConfig& config = input.config.timeline_export;
  const ModelGroups groups = model_groups(input.ranks, input.groups, input.workload);
  const std::vector<bool> shown = shown_ranks(input.ranks, groups, config);
  if (const std::string nothing = nothing_to_show(input, shown, comm); !nothing.empty()) {
    if (input.ended_early) return false;
    throw FatalError(ExitCode::bad_request, "--timeline-json has no " + nothing);
  }
  const std::vector<std::int64_t> origin_ns = origins(input, shown);
  const bool packed = config.file.ends_with(".gz");
  std::map<std::int32_t, GzipPiece> mine;
  together(comm, [&] {
    for (std::size_t trace = 0; trace < input.events.size(); ++trace) {
      if (input.events[trace].empty()) continue;
      const std::int32_t row = input.events[trace].front().rank_row;
      if (shown[static_cast<std::size_t>(row)])
        mine[row] = piece_of(timeline_text(input, trace, groups, shown, origin_ns), packed);
    }
  });
  const Bytes parcel = pack(mine);
  if (!comm.is_first()) comm.send(0, parcel);
  std::map<std::int32_t, GzipPiece> all;
  for (int worker = 0; comm.is_first() && worker < comm.num_workers(); ++worker) {
    const Bytes part = worker == 0 ? parcel : comm.receive(worker);
    for (ByteReader in(part); !in.at_end();) {
      const auto row = in.value<std::int32_t>();
      GzipPiece& piece = all[row];
      piece.crc = in.value<std::uint32_t>();
      piece.plain_bytes = in.value<std::int64_t>();
      piece.bytes = in.text();
    }
  }
  together(comm, [&] {
    if (!comm.is_first()) return;
    std::vector<GzipPiece> pieces{piece_of(head(input, groups, shown, origin_ns), packed)};
    for (auto& [row, piece] : all) pieces.push_back(std::move(piece));
    // The list ends with an event of its own, since every other is followed by a comma.
    pieces.push_back(piece_of("{\"ph\":\"M\",\"name\":\"trace_end\",\"pid\":0,\"args\":{}}\n]}\n", packed));
    std::string text;
    if (packed)
      text = gzip_file_text(pieces);
    else
      for (const GzipPiece& piece : pieces) text += piece.bytes;
    write_text_file("timeline", config.file, text);
  });
  return true;
}

}  // namespace ccl
