#include "store/event_tables.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace ccl {
namespace {

/// Number of each name in the sorted list of all, by its id.
std::map<StringId, std::int64_t> number_names(const std::set<std::string>& names) {
  std::map<StringId, std::int64_t> numbers;
  std::int64_t next = 0;
  for (const std::string& name : names) numbers[string_id(name)] = next++;
  return numbers;
}

std::set<std::string> all_names(const std::vector<std::vector<EventRow>>& events, const StringTable& strings, const Comm& comm) {
  std::set<StringId> mine;
  for (const std::vector<EventRow>& rows : events)
    for (const EventRow& event : rows) mine.insert(event.name);
  ByteWriter out;
  for (const StringId name : mine) out.text(std::string(strings.text(name)));
  std::set<std::string> all;
  for (const Bytes& part : comm.gather_all(out.take()))
    for (ByteReader in(part); !in.at_end();) all.insert(in.text());
  return all;
}

std::vector<ColumnSpec<EventRow>> event_columns(const Ranks& ranks, const ClockModel& clock,
                                                const std::map<StringId, std::int64_t>& numbers) {
  using Row = EventRow;
  const auto entry = [&ranks](const Row& row) -> const RankEntry& {
    return ranks.entries[static_cast<std::size_t>(row.rank_row)];
  };
  std::vector<ColumnSpec<Row>> all;
  const auto small = [&](const char* name, const char* description, auto value) {
    all.push_back(number_spec<Row, std::int32_t>({name, "", description, {}, -1}, value));
  };
  small("iteration", "number of the iteration folder", [=](const Row& r) { return std::int64_t{entry(r).iteration}; });
  all.push_back(column("step", &Row::step, "", "number of the ProfilerStep; -1 = outside every step", -1));
  small("rank", "rank of the training run", [=](const Row& r) { return std::int64_t{entry(r).rank.value}; });
  small("replica", "number of the TorchTitan replica", [=](const Row& r) { return std::int64_t{entry(r).replica}; });
  all.push_back(column("device", &Row::device, "", "GPU of the rank's process"));
  all.push_back(column("stream", &Row::stream, "", "stream of the GPU"));
  all.push_back(column("start_ns", &Row::start_ns, "ns", "start, clock of the trace"));
  all.push_back(integer_column<Row>("start_corrected_ns", "ns", "start on the common clock", {},
                                    [=, &clock](const Row& row) {
                                      const std::int32_t host = entry(row).host_index;
                                      return host < 0 ? row.start_ns : clock.corrected(host, row.start_ns);
                                    }));
  all.push_back(column("dur_ns", &Row::dur_ns, "ns", "duration"));
  small("name", "row of /events/names", [&numbers](const Row& row) { return numbers.at(row.name); });
  all.push_back(column("kind", &Row::kind, "", "compute, communication, memory_copy or memory_set"));
  all.push_back(column("category", &Row::category, "", "the one category of the event"));
  all.push_back(column("phase", &Row::phase, "", "what it was launched in"));
  all.push_back(column("evidence", &Row::evidence, "", "by what the phase is known"));
  all.push_back(column("microbatch", &Row::microbatch, "", "micro-batch within its step", -1));
  all.push_back(column("chunk", &Row::chunk, "", "virtual stage (model chunk) of the rank", -1));
  all.push_back(column("op", &Row::op, "", "operation of a communication kernel"));
  all.push_back(column("dimension", &Row::dimension, "", "parallelism that a communication kernel serves"));
  all.push_back(column("correlation", &Row::correlation, "", "correlation id in the trace; 0 = none"));
  return all;
}

}  // namespace

EventTables event_tables(const std::vector<std::vector<EventRow>>& mine, const Ranks& ranks, const ClockModel& clock,
                         const StringTable& strings, const Comm& comm) {
  const std::set<std::string> names = all_names(mine, strings, comm);
  const std::map<StringId, std::int64_t> numbers = number_names(names);
  EventTables out;
  out.rows = make_table("rows", "every GPU event, by rank and start", event_columns(ranks, clock, numbers),
                        in_rank_order(mine, comm));
  struct Name {
    std::string text;
  };
  std::vector<Name> listed;
  if (comm.is_first())
    for (const std::string& name : names) listed.push_back({name});
  const std::vector<ColumnSpec<Name>> columns{column("name", &Name::text, "", "name of a GPU event")};
  out.names = make_table("names", "names of GPU events; column name of /events/rows is the row here", columns, listed);
  return out;
}

}  // namespace ccl
