#include "analyze.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <span>

#include "comm/lending.hpp"
#include "core/bytes.hpp"
#include "core/freed_memory.hpp"
#include "core/heap_pages.hpp"
#include "exchange/graph_order.hpp"
#include "exchange/measured_graph.hpp"
#include "exchange/settle_records.hpp"
#include "parse/execution_trace.hpp"
#include "parse/memory_snapshot.hpp"
#include "parse/message_sizes.hpp"
#include "parse/nsys_survey.hpp"
#include "parse/own_files.hpp"
#include "parse/trace_reader.hpp"
#include "shared_file.hpp"
#include "trace_use.hpp"

namespace ccl {
namespace {

/// Supplies what a Kineto trace without communication arguments lacks from the execution trace of its rank.
class ExecutionTraces {
 public:
  ExecutionTraces(const Input& input, const ReadOptions& options) : input_(input), options_(options) {}

  /// Whether anything was supplied.
  bool supply(const TraceFile& from, RankTrace& trace, Problems& problems) const {
    const bool has_arguments = std::any_of(trace.collectives.begin(), trace.collectives.end(),
                                           [](const Collective& c) { return c.has_arguments; });
    const TraceFile* file = has_arguments || trace.collectives.empty() ? nullptr : find(from, trace.rank);
    if (file == nullptr) return false;
    return supply_communication(read_execution_trace(*file, options_, problems), trace);
  }

 private:
  const TraceFile* find(const TraceFile& trace, RankId rank) const {
    const std::int32_t wanted = rank.known() ? rank.value : trace.rank_in_name;
    for (const TraceFile& file : input_.files)
      if (file.format == TraceFormat::execution_trace && file.rank_in_name == wanted && wanted >= 0 &&
          file.iteration == trace.iteration && file.replica == trace.replica)
        return &file;
    return nullptr;
  }

  const Input& input_;
  const ReadOptions& options_;
};

/// Of all traces in one list, made when their events are gone: a list that grew along would be copied again and again.
void join_records(std::vector<std::vector<CollectiveRecord>> by_trace, LocalResults& local) {
  if (by_trace.size() == 1) {
    local.records = std::move(by_trace.front());
    return;
  }
  std::size_t count = 0;
  for (const auto& records : by_trace) count += records.size();
  local.records.reserve(count);
  advise_heap_growth();
  for (auto& records : by_trace) {
    local.records.insert(local.records.end(), records.begin(), records.end());
    records = std::vector<CollectiveRecord>();  // braces alone would keep its memory
  }
}

/// Readers by format, made when the first file of their format comes.
class Readers {
 public:
  TraceReader* of(TraceFormat format) {
    const auto [at, added] = readers_.try_emplace(format);
    if (added) at->second = make_reader(format);
    return at->second.get();
  }

 private:
  std::map<TraceFormat, std::unique_ptr<TraceReader>> readers_;
};

/// The rank in the name; a snapshot that is alone in its iteration and replica is of rank 0, as a trace would be.
RankId rank_of_snapshot(const Input& input, const TraceFile& file) {
  if (file.rank_in_name >= 0) return RankId(file.rank_in_name);
  const auto same = [&](const TraceFile& other) {
    return other.format == TraceFormat::memory_snapshot && other.iteration == file.iteration &&
           other.replica == file.replica;
  };
  return std::count_if(input.files.begin(), input.files.end(), same) == 1 ? RankId(0) : RankId();
}

Problem problem_of(Code code, const TraceFile& file) {
  return {.code = code, .iteration = file.iteration, .rank = file.rank_in_name, .file = file.shown, .detail = {}};
}

void read_snapshot(std::int32_t number, const Input& input, const ReadOptions& options, const LocalContext& context,
                   Metrics& metrics, LocalResults& local, Problems& problems, Progress& progress, Timings& timings) {
  const TraceFile& file = input.files[static_cast<std::size_t>(number)];
  const auto began = std::chrono::steady_clock::now();
  MemorySnapshot snapshot{number, file.shown, file.iteration, file.replica, rank_of_snapshot(input, file), {}};
  snapshot.devices = read_memory_snapshot(file, options, problems, progress);
  if (!snapshot.devices.empty()) {
    ++local.snapshots_count;
    for (const auto& metric : metrics) metric->snapshot(snapshot, context);
  }
  timings.files.push_back({number, std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count()});
}

}  // namespace

bool keeps_events(const Config& config) { return config.output.events || !config.timeline_export.file.empty(); }

bool wants_chains(const Metrics& metrics, const Input& input) {
  // An export of Nsight may hold several ranks.
  const bool one_rank = input.files.size() == 1 && input.files.front().format == TraceFormat::kineto;
  return std::any_of(metrics.begin(), metrics.end(), [&](const auto& metric) {
    return metric->info().needs_chains && !(one_rank && metric->info().graph_of_several);
  });
}

bool wants_matching(const Metrics& metrics, const Config& config) {
  return !config.timeline_export.file.empty() ||
         std::any_of(metrics.begin(), metrics.end(), [](const auto& metric) { return metric->info().needs_matching; });
}

LocalResults analyze(const Input& input, const Config& config, const Classifier& classifier, const Comm& comm,
                     Metrics& metrics, StringTable& strings, Problems& problems, Progress& progress, Timings& timings,
                     const Communicators& communicators) {
  LocalResults local;
  local.steps_chosen = !config.input.steps.empty();
  local.first_record.push_back(0);
  ReadOptions options;
  options.inflate_limit = config.inflate_limit;
  options.classifier = &classifier;
  const bool events = keeps_events(config);
  const bool chains = local.keeps_chains = wants_chains(metrics, input);
  bool records = wants_matching(metrics, config), segments = false, snapshots = false, windows = false;
  if (events) options.wants.unite({.annotations = true, .cpu_ops = true, .python = true});
  for (const auto& metric : metrics) {
    options.wants.unite(metric->info().wants);
    segments |= metric->info().needs_segments;
    snapshots |= metric->info().needs_snapshots;
    windows |= metric->info().needs_work_windows;
    records |= metric->info().needs_records;
  }
  std::int64_t total_bytes = 0;
  for (const TraceFile& file : input.files) total_bytes += file.bytes;
  progress.total(static_cast<std::int64_t>(input.files.size()), total_bytes);

  const LocalContext context{config, input.workload, classifier, strings};
  std::vector<std::vector<CollectiveRecord>> records_by_trace;
  const TraceUse use{input, config, context, metrics, local, records_by_trace, comm.worker(), segments, records, chains, events, windows};
  const ExecutionTraces execution_traces(input, options);
  auto readers = std::make_shared<Readers>();
  std::size_t most_events = 0;  // of a trace
  options.communicators = &communicators;
  for (const OwnFile& own : own_files(input, comm.worker())) {
    const std::int32_t number = own.number;  // Clang 14 captures no structured bindings
    options.part = own.part;
    const bool speaks = options.part.number == 0;  // for the file as a whole
    const TraceFile& file = input.files[static_cast<std::size_t>(number)];
    const auto began = std::chrono::steady_clock::now();
    const auto took = [&] {
      timings.files.push_back({number, std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count()});
    };
    SharedFile shared(file, own.part, comm);
    if (shared.has_lent()) {
      took();
      continue;
    }
    options.parts = &shared;
    options.lent = shared.lent();
    if (progress.stop_requested()) {
      local.ended_early = true;
      if (file.format == TraceFormat::kineto) pass_over_part(options);
      if (speaks) problems.add(problem_of(Code::not_read, file));
      continue;
    }
    if (file.format == TraceFormat::memory_snapshot) {
      if (snapshots) read_snapshot(number, input, options, context, metrics, local, problems, progress, timings);
      else progress.add_bytes(file.bytes);
      progress.add_file();
      continue;
    }
    if (file.format == TraceFormat::execution_trace) {  // read with the trace of its rank
      progress.add_bytes(file.bytes);
      progress.add_file();
      continue;
    }
    TraceReader* reader = readers->of(file.format);
    if (reader == nullptr) {
      if (!speaks) continue;
      problems.add(problem_of(Code::feature_off, file));
      progress.add_bytes(file.bytes);
      progress.add_file();
      continue;
    }
    Problems found;
    bool supplied = false;
    reader->read(file, options, found, progress, [&](RankTrace& trace) {
      timings.events_count += trace.events_count;
      supplied = execution_traces.supply(file, trace, problems) || supplied;
      forget_impossible_sizes(trace, problem_of(Code::inout_disagree, file), problems);
      most_events = std::max(most_events, trace.events.size());
      use.take(trace, number, options.lent.processors);
      advise_heap_growth();
    });
    if (supplied) found.forget(Code::bytes_unknown);
    problems.unite(found);
    if (speaks) progress.add_file();
    took();
  }
  local.ended_early |= progress.stop_requested();
  if (!is_large(most_events)) local.reading_memory = std::move(readers);
  readers.reset();
  join_records(std::move(records_by_trace), local);
  return local;
}

std::vector<std::pair<std::string, std::int64_t>> steps_asked(const Config& config) {
  std::vector<std::pair<std::string, std::int64_t>> asked;
  for (const std::int64_t step : config.input.steps) asked.emplace_back("--step " + std::to_string(step), step);
  for (const auto& [option, edge] : {std::pair("--start ", &config.window_start), {"--end ", &config.window_end}})
    if (edge->starts_with("step:")) asked.emplace_back(option + *edge, std::stoll(edge->substr(5)));
  return asked;
}

namespace {

/// Rows of /ranks of this worker's traces; −1: left out. One pass: a search for each would cost ranks².
std::vector<std::int32_t> rows_of_traces(const LocalResults& local, const Ranks& ranks, const Comm& comm) {
  std::vector<std::int32_t> rows(local.facts.size(), -1);
  for (std::size_t i = 0; i < ranks.entries.size(); ++i) {
    const RankFacts& facts = ranks.entries[i].facts;
    if (facts.worker == comm.worker()) rows[static_cast<std::size_t>(facts.local)] = static_cast<std::int32_t>(i);
  }
  return rows;
}

}  // namespace

std::vector<LocalGroup> local_groups(LocalResults& local, const Ranks& ranks, const Comm& comm) {
  const std::vector<std::int32_t> row_of_trace = rows_of_traces(local, ranks, comm);
  std::vector<LocalGroup> all;
  for (std::size_t trace = 0; trace < local.groups.size(); ++trace) {
    const std::int32_t row = row_of_trace[trace];
    if (row < 0) continue;
    for (std::size_t group = 0; group < local.groups[trace].size(); ++group)
      all.push_back({row, static_cast<std::uint32_t>(group), std::move(local.groups[trace][group]),
                     local.sequence_everywhere[trace][group]});
  }
  return all;
}

void settle(LocalResults& local, const Ranks& ranks, const Groups& groups, const Comm& comm, Metrics& metrics) {
  const std::vector<std::int32_t> row_of_trace = rows_of_traces(local, ranks, comm);
  std::vector<Metric::BatchKey> keys;
  std::vector<std::size_t> first_record{0};
  std::size_t kept = 0;  // records, moved up in place
  for (std::size_t trace = 0; trace < local.facts.size(); ++trace) {
    const std::int32_t row = row_of_trace[trace];
    Metric::BatchKey key;
    key.keep = row >= 0;
    if (key.keep) {
      const RankEntry& entry = ranks.entries[static_cast<std::size_t>(row)];
      key.iteration = entry.iteration;
      key.replica = entry.replica;
      key.rank = entry.rank;
      key.step_shift = entry.step_shift;
      key.keep_steps = entry.no_steps.empty();
      const std::span<CollectiveRecord> own(local.records.data() + local.first_record[trace],
                                            local.first_record[trace + 1] - local.first_record[trace]);
      settle_records(own, {comm.worker(), kept}, row, entry, groups, local.steps_chosen);
      if (!local.events.empty()) settle_events(local.events[trace], row, entry, kept);
      if (kept != local.first_record[trace])
        std::copy(own.begin(), own.end(), local.records.begin() + static_cast<std::ptrdiff_t>(kept));
      kept += own.size();
    } else {
      local.segments[trace].clear();
      local.chains[trace] = {};
      if (!local.events.empty()) local.events[trace].clear();
    }
    first_record.push_back(kept);
    keys.push_back(key);
  }
  local.records.resize(kept);
  local.splits = settled_splits(local.splits, local.first_record, first_record, comm.worker());
  local.first_record = std::move(first_record);
  for (const auto& metric : metrics) metric->settle(keys);
}

Matched unmatched(const Ranks& ranks) {
  Matched none;
  none.clock.hosts.resize(ranks.hosts.size());
  for (const RankEntry& entry : ranks.entries)
    if (none.clock.reference_rank < 0 || entry.rank.value < none.clock.reference_rank)
      none.clock.reference_rank = entry.rank.value;
  for (HostClock& host : none.clock.hosts) host.corrected = ranks.hosts.size() == 1;
  return none;
}

void close(LocalResults& local, const Matched& matched, ClosingContext context, const Comm& comm, Metrics& metrics) {
  const Lending lending = lend_to_busy(context.ranks.workers(), comm);
  context.lent = lending.processors();
  for (const auto& metric : metrics) metric->matched(matched.mine, context);
  const std::vector<std::int32_t> row_of_trace = rows_of_traces(local, context.ranks, comm);
  std::vector<std::function<void()>> tasks;
  for (std::size_t trace = 0; trace < local.facts.size(); ++trace) {
    const std::int32_t row = row_of_trace[trace];
    if (row < 0) continue;
    const std::size_t first = local.first_record[trace], count = local.first_record[trace + 1] - first;
    const std::span records(local.records);
    const std::span verdicts(matched.verdicts);
    const ClosingRank rank{row, context.ranks.entries[static_cast<std::size_t>(row)], local.segments[trace],
                           records.subspan(first, count), verdicts.empty() ? verdicts : verdicts.subspan(first, count)};
    tasks.clear();
    const auto close_one = [&](Metric& metric) { metric.closing(rank, context); };
    for (const auto& metric : metrics)  // two pointers: a std::function keeps no more without memory of its own
      tasks.emplace_back([&close_one, of = metric.get()] { close_one(*of); });
    if (local.reading_memory) tasks.emplace_back([&local] { local.reading_memory.reset(); });
    side_by_side(context.lent, tasks);
  }
}

std::int64_t close_graphs(LocalResults& local, const Matched& matched, const ClosingContext& context, const Comm& comm,
                          Metrics& metrics, Problems& problems) {
  if (!local.keeps_chains) return 0;
  const std::vector<std::int32_t> row_of_trace = rows_of_traces(local, context.ranks, comm);
  std::vector<RankChain> chains;
  for (std::size_t trace = 0; trace < local.facts.size(); ++trace) {
    const std::int32_t row = row_of_trace[trace];
    if (row < 0) continue;
    const RankEntry& entry = context.ranks.entries[static_cast<std::size_t>(row)];
    if (!entry.takes_part) continue;
    RankChain chain{row, std::move(local.chains[trace]), {}, local.first_record[trace]};
    for (const Step& step : entry.facts.steps) chain.step_numbers.push_back(step.number + entry.step_shift);
    chains.push_back(std::move(chain));
  }
  local.chains = {};
  GraphGather gather(std::move(chains), local.records, matched, context.ranks, context.groups, comm);
  for (std::size_t round = 0; round < gather.rounds_count(); ++round) {
    auto [key, ops] = gather.step_of(round);
    together(comm, [&, &step = key, &of_step = ops] {
      const Lending lending = lend_to_busy(gather.owners(round), comm);
      if (of_step.ops.empty()) return;
      const MeasuredGraph graph(link_graph(std::move(of_step), step), lending.processors());
      report_cuts(graph, context.ranks, problems);
      std::vector<std::function<void()>> tasks;
      for (const auto& metric : metrics) tasks.emplace_back([&graph, &context, of = metric.get()] { of->graph(graph, context); });
      side_by_side(lending.processors(), tasks);
    });
  }
  return gather.bytes_sent();
}

}  // namespace ccl
