#include "exchange/event_rows.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "metrics/busy.hpp"

namespace ccl {

std::vector<EventRow> event_rows(const RankTrace& trace, const EventRoles& roles, StringTable& strings) {
  const EventTable& events = trace.events;
  std::vector<EventRow> rows(events.size());
  std::vector<StringId> names(trace.strings.size());
  std::vector<bool> known(trace.strings.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EventRow& row = rows[i];
    const std::uint32_t name = events.name[i];
    if (!known[name]) names[name] = strings.intern(trace.strings.text(name)), known[name] = true;
    const Lane& lane = trace.lanes[events.lane[i]];
    row.start_ns = events.start_ns[i];
    row.dur_ns = events.dur_ns[i];
    row.correlation = events.correlation[i];
    if (events.step[i] >= 0) row.step = trace.steps[static_cast<std::size_t>(events.step[i])].number;
    row.stream = lane.stream;
    row.device = lane.device;
    row.name = names[name];
    row.kind = events.kind[i];
    row.phase = roles.phase[i];
    row.category = roles.category[i];
    row.evidence = roles.evidence[i];
    if (roles.microbatch[i] < 0) continue;
    const MicroBatch& m = roles.microbatches[static_cast<std::size_t>(roles.microbatch[i])];
    row.microbatch = m.number;
    row.chunk = m.chunk;
    row.direction = m.direction;
  }
  for (std::size_t c = 0; c < trace.collectives.size(); ++c) {
    const Collective& collective = trace.collectives[c];
    EventRow& row = rows[collective.event];
    row.record = static_cast<std::int32_t>(c);
    row.group = static_cast<std::int32_t>(collective.group);
    row.op = collective.op;
    row.dimension = dimension_of(trace, &collective);
  }
  return rows;
}

void settle_events(std::vector<EventRow>& rows, std::int32_t rank_row, const RankEntry& entry, std::size_t first_record) {
  for (EventRow& row : rows) {
    row.rank_row = rank_row;
    if (!entry.no_steps.empty()) row.step = outside_step;
    if (row.step != outside_step) row.step += entry.step_shift;
    if (row.record >= 0) row.record += static_cast<std::int32_t>(first_record);
  }
}

std::vector<EventRow> in_rank_order(const std::vector<std::vector<EventRow>>& mine, const Comm& comm) {
  struct Count {
    std::int64_t rank_row, rows;
  };
  std::vector<Count> own;
  for (const std::vector<EventRow>& rows : mine)
    if (!rows.empty()) own.push_back({rows.front().rank_row, static_cast<std::int64_t>(rows.size())});
  std::map<std::int64_t, std::int64_t> rows_of_rank;
  std::int64_t total = 0;
  for (const Count& count : gather_all_rows(comm, own)) rows_of_rank[count.rank_row] += count.rows, total += count.rows;
  std::map<std::int64_t, std::size_t> owner;
  std::int64_t before = 0;
  for (const auto& [rank_row, rows] : rows_of_rank) {
    owner[rank_row] = static_cast<std::size_t>((before + rows / 2) * comm.num_workers() / std::max<std::int64_t>(total, 1));
    before += rows;
  }
  std::vector<std::vector<EventRow>> out(static_cast<std::size_t>(comm.num_workers()));
  for (const std::vector<EventRow>& rows : mine) {
    if (rows.empty()) continue;
    std::vector<EventRow>& to = out[owner[rows.front().rank_row]];
    to.insert(to.end(), rows.begin(), rows.end());
  }
  std::vector<EventRow> all = exchange_rows(comm, std::move(out));
  std::sort(all.begin(), all.end(), [](const EventRow& a, const EventRow& b) {
    return std::tuple(a.rank_row, a.start_ns, a.device, a.stream, a.correlation, a.dur_ns, a.name) <
           std::tuple(b.rank_row, b.start_ns, b.device, b.stream, b.correlation, b.dur_ns, b.name);
  });
  return all;
}

}  // namespace ccl
