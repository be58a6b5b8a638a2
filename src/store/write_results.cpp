#include <algorithm>
#include <array>
#include <ctime>
#include <map>
#include <memory>
#include <stdexcept>
#include <utility>

#include "core/process_time.hpp"
#include "exchange/coverage.hpp"
#include "store/collective_tables.hpp"
#include "store/event_tables.hpp"
#include "store/json_text.hpp"
#include "store/results.hpp"
#include "store/run_facts.hpp"
#include "store/run_tables.hpp"
#include "store/timeline_export.hpp"
#include "store/write_table.hpp"

namespace ccl {
namespace {

constexpr std::int64_t schema_version = 1;
constexpr std::int64_t most_members_unasked = 20'000'000;

std::string usual_description(const std::string& group) {
  static const std::map<std::string, std::string> known{
      {"/", "what ccl-analyze found in the traces of one training run"},
      {"/collectives", "communication operations matched across ranks"},
      {"/metrics", "one group per metric; headline values are attributes of it"},
      {"/timeline", "what each rank did over time, in equal bins, one group per iteration"},
      {"/traffic", "bytes between ranks"},
      {"/warnings", "what was wrong with the input, and where"},
      {"/timings", "how long the analysis took; differs between runs"}};
  const auto found = known.find(group);
  if (found != known.end()) return found->second;
  const std::size_t slash = group.rfind('/');
  const std::string iteration = "iteration_", name = group.substr(slash + 1);
  if (!name.starts_with(iteration)) return "part of " + group.substr(0, slash);
  return name == "iteration_-1" ? "traces outside any iteration folder" : "iteration " + name.substr(iteration.size());
}

/// The file, and which groups it has: those get their descriptions at the end. On worker 0 only.
class Output {
 public:
  explicit Output(const std::string& target) : file_(target) {}
  OutputFile& file() { return file_; }
  /// To be called for every dataset with its path, which it returns.
  const std::string& note(const std::string& path) {
    for (std::size_t end = path.find('/', 1); end != std::string::npos; end = path.find('/', end + 1))
      groups_.emplace(path.substr(0, end), "");
    return path;
  }
  void describe(const std::string& group, const std::string& description) { groups_[group] = description; }
  void add(const std::string& path, ResultTable table) { write_table(file_, note(path), std::move(table)); }
  void add(const ResultVector& vector) {
    note(vector.path);
    write_vector(file_, vector);
  }
  void finish_groups() {
    groups_.emplace("/", "");
    groups_.emplace("/metrics", "");
    for (const auto& [group, given] : groups_) {
      file_.group(group);
      file_.attribute(group, "description", given.empty() ? usual_description(group) : given);
    }
  }

 private:
  OutputFile file_;
  std::map<std::string, std::string> groups_;  // path -> description, empty = the usual one
};

bool any_matched(const Results& results, const Comm& comm) {
  bool any = false;
  for (const MetricResult& metric : results.metrics) any = any || metric.info.needs_matching;
  return comm.max(any ? 1 : 0) == 1;
}

void write_collectives(Output* output, const Results& results, const Comm& comm) {
  const std::int64_t most = results.config.output.members ? INT64_MAX : most_members_unasked;
  CollectiveTables tables =
      collective_tables(results.collectives, results.ranks, results.groups, results.clock, most, comm);
  OutputFile* file = output == nullptr ? nullptr : &output->file();
  write_table(file, "/collectives/instances", std::move(tables.instances), comm);
  if (!tables.members_left_out) write_table(file, "/collectives/members", std::move(tables.members), comm);
  if (output != nullptr && tables.members_left_out)
    output->describe("/collectives",
                     "communication operations matched across ranks; members left out for their size (--members)");
}

void write_events(Output* output, const Results& results, const Comm& comm) {
  EventTables tables = event_tables(*results.events, results.ranks, results.clock, *results.event_names, comm);
  OutputFile* file = output == nullptr ? nullptr : &output->file();
  write_table(file, "/events/rows", std::move(tables.rows), comm);
  write_table(file, "/events/names", std::move(tables.names), comm);
  if (output != nullptr) output->describe("/events", "every GPU event and what it is for (--events)");
}

/// With its path.
void finish_table(const MetricInfo& metric, ResultTable table, ByteWriter& finished) {
  const std::string path = table.name.starts_with('/') ? table.name : "/metrics/" + metric.name + "/" + table.name;
  pack_finished(path, std::move(table), finished);
}

/// Of the metrics whose report was made on this worker, what finish_tables() has left.
Bytes finished_now(const Results& results) {
  ByteWriter finished;
  for (const MetricResult& metric : results.metrics)
    for (const auto* tables : {&metric.tables, &metric.report.extra_tables})
      for (const ResultTable& table : *tables) finish_table(metric.info, table, finished);
  return finished.take();
}

void write_finished_tables(Output& output, std::span<const std::byte> finished) {
  for (ByteReader in(finished); !in.at_end();) output.note(write_finished(output.file(), in));
}

void write_metric(Output& output, const MetricResult& metric, const Results& results) {
  const std::string group = "/metrics/" + metric.info.name;
  const Report& report = metric.report;
  output.describe(group, metric.info.question);
  OutputFile& file = output.file();
  file.group(group);
  file.attribute(group, "definition", metric.info.definition);
  file.attribute(group, "needs", metric.info.needs);
  file.attribute(group, "unit", headline_unit(report));
  file.attribute(group, "status", std::string(to_text(report.status)));
  file.attribute(group, "reason", report.reason);
  file.attribute(group, "ranks_covered", report.ranks_covered);
  file.attribute(group, "ranks_expected", results.ranks.expected);
  JsonText headlines;
  headlines.open('{');
  for (const Headline& headline : report.headlines) {
    headlines.key(headline.name).text(headline.description);
    if (headline.text.empty())
      file.attribute(group, headline.name, headline.value);
    else
      file.attribute(group, headline.name, headline.text);
  }
  file.attribute(group, "headlines", headlines.close('}').take());
  for (const ResultVector& vector : report.vectors) output.add(vector);
}

void write_timings(Output& output, const std::vector<WorkerTimings>& timings, const Input& input) {
  output.add("/timings/stages", stage_table(timings));
  output.add("/timings/files", file_time_table(timings, input));
  std::int64_t events = 0, memory = 0;
  for (const WorkerTimings& worker : timings) {
    events += worker.timings.events_count;
    memory = std::max(memory, worker.timings.peak_memory_bytes);
  }
  output.file().attribute("/timings", "events_count", events);
  output.file().attribute("/timings", "peak_memory_bytes", memory);
}

std::string now_utc() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

void write_root(OutputFile& file, const Results& results, const Comm& comm) {
  const auto put = [&](const char* name, const AttributeValue& value) { file.attribute("/", name, value); };
  put("schema_version", schema_version);
  put("program_version", std::string(CCL_VERSION));
  put("created_utc", now_utc());
  put("command_line", results.config.command_line);
  put("workers", std::int64_t{comm.num_workers()});
  put("config", config_json(results.config));
  put("exit_status", static_cast<std::int64_t>(results.exit_code));
  put("ranks_expected", results.ranks.expected);
  put("ranks_covered", analysed_ranks_count(results.ranks));
  put("ranks_whole", whole_ranks_count(results.ranks));
  put("coverage", coverage_text(results.ranks, "ranks analysed", &results.input));
  put("world_size", results.ranks.world_size);
  put("mesh", mesh_text(results.input.workload.mesh));
  put("mesh_source", results.input.workload.mesh.source);
  put("clock_reference", std::int64_t{results.clock.reference_rank});
  put("clock_residual_ns", results.clock.residual_ns);
  put("clock_t_ref_ns", results.clock.t_ref_ns);
}

/// What each other worker has to give, on worker 0.
std::vector<Bytes> to_first(const Bytes& mine, const Comm& comm) {
  std::vector<Bytes> all;
  if (!comm.is_first()) comm.send(0, mine);
  else
    for (int from = 1; from < comm.num_workers(); ++from) all.push_back(comm.receive(from));
  return all;
}

/// The stage that is under way: /timings is the last that it writes.
class WriteStage {
 public:
  explicit WriteStage(const Comm& comm) : comm_(comm) {}
  StageTime so_far() const {
    StageTime stage;
    stage.stage = "write";
    stage.wall_s = wall_seconds() - wall_start_s_;
    stage.cpu_s = cpu_seconds() - cpu_start_s_;
    stage.sent_bytes = comm_.sent_bytes() - sent_at_start_bytes_;
    stage.peak_memory_bytes = peak_memory_bytes();
    return stage;
  }
  Timings with(Timings timings) const {
    timings.stages.push_back(so_far());
    timings.peak_memory_bytes = timings.stages.back().peak_memory_bytes;
    return timings;
  }

 private:
  const Comm& comm_;
  std::int64_t sent_at_start_bytes_ = comm_.sent_bytes();
  double wall_start_s_ = wall_seconds(), cpu_start_s_ = cpu_seconds();
};

/// Everything that worker 0 holds whole.
void write_own(Output& output, const Results& results) {
  output.add("/ranks", rank_table(results));
  output.add("/steps", step_table(results.ranks));
  output.add("/workload", workload_table(results.input.workload));
  output.add("/process_groups", group_table(results.groups));
  output.add("/process_group_members", group_member_table(results.groups));
  output.add("/model_groups", model_group_table(results));
  output.add("/warnings/counts", warning_count_table(results.problems));
  output.add("/warnings/rows", warning_row_table(results.problems));
  for (const MetricResult& metric : results.metrics) write_metric(output, metric, results);
}

void write_last(Output& output, const Results& results, std::vector<WorkerTimings> timings, const WriteStage& stage,
                const Comm& comm) {
  write_root(output.file(), results, comm);
  timings.front().timings = stage.with(results.timings);
  write_timings(output, timings, results.input);
  output.finish_groups();
  // Last, so that a file that has it is whole.
  output.file().attribute("/", "completeness", std::string(results.partial ? "partial" : "complete"));
  output.file().commit();
}

}  // namespace

void finish_tables(MetricResult& metric, ByteWriter& finished) {
  for (auto* tables : {&metric.tables, &metric.report.extra_tables})
    for (ResultTable& table : std::exchange(*tables, {})) finish_table(metric.info, std::move(table), finished);
}

void check_output(const Config& config, const Comm& comm) {
  together(comm, [&] {
    if (comm.is_first()) OutputFile probe(config.output.hdf5);
  });
}

void write_results(const Results& results, const Comm& comm) {
  const WriteStage stage(comm);
  std::unique_ptr<Output> output;
  together(comm, [&] {
    if (comm.is_first()) output = std::make_unique<Output>(results.config.output.hdf5);
  });
  OutputFile* file = output ? &output->file() : nullptr;
  if (any_matched(results, comm)) {
    if (output) output->note("/collectives/instances");
    write_collectives(output.get(), results, comm);
  }
  for (const FinishedMatrix& matrix : results.matrices) {
    if (output) output->note(matrix.rows.layout.path);
    write_matrix(file, matrix, comm);
  }
  if (results.events != nullptr) write_events(output.get(), results, comm);
  Bytes left;
  together(comm, [&] {
    if (output) write_own(*output, results);
    left = finished_now(results);
  });
  const std::vector<Bytes> of_others = to_first(results.finished, comm), left_of_others = to_first(left, comm);
  const std::vector<WorkerTimings> timings = gather_timings(stage.with(results.timings), comm);
  together(comm, [&] {
    if (!output) return;
    write_finished_tables(*output, results.finished);
    write_finished_tables(*output, left);
    for (const auto* parcels : {&of_others, &left_of_others})
      for (const Bytes& tables : *parcels) write_finished_tables(*output, tables);
    write_last(*output, results, timings, stage, comm);
  });
}

}  // namespace ccl
