#include "run.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "analyze.hpp"
#include "core/freed_memory.hpp"
#include "core/heap_pages.hpp"
#include "exchange/communicators.hpp"
#include "exchange/merge.hpp"
#include "metrics/all_metrics.hpp"
#include "metrics/hardware.hpp"
#include "refuse.hpp"
#include "report.hpp"
#include "shared_settings.hpp"
#include "stopwatch.hpp"
#include "store/finish_matrices.hpp"
#include "store/timeline_export.hpp"

namespace ccl {

// What stages behind the reading take at their peak; 840 were measured (6144 ranks, 2 workers).
constexpr std::size_t bytes_a_record = 1024;

Outcome run(const Config& config, const Comm& comm, Progress& progress) {
  use_huge_heap_pages();
  Problems problems;
  StringTable strings;
  Timings timings;
  Stopwatch stopwatch(timings, progress, &comm);
  Metrics metrics = start_metrics(config.metrics);
  const Classifier classifier = shared_classifier(config, comm);
  // The built-in ones are good, and read only where a metric asks for them.
  if (!config.settings_files.empty()) check_hardware_settings(shared_settings("hardware", config, comm));
  check_output(config, comm);

  stopwatch.start("discover");
  const Input input = discover(config, comm, problems);

  stopwatch.start("analyze");
  LocalResults local;
  const Communicators communicators = survey_communicators(input, comm);
  together(comm, [&] {
    local = analyze(input, config, classifier, comm, metrics, strings, problems, progress, timings, communicators);
  });
  for (const FileTime& own : timings.files) {
    const TraceFile& file = input.files[static_cast<std::size_t>(own.file)];
    stopwatch.current().read_bytes += file.bytes / std::max<std::int64_t>(1, static_cast<std::int64_t>(file.readers.size()));
  }
  stopwatch.current().items_count = timings.events_count;

  keep_all_freed_memory();
  make_heap_room(local.records.size() * bytes_a_record);
  stopwatch.start("agree");
  const Ranks ranks = agree_on_ranks(local.facts, input, config, comm, problems);
  const bool ended_early = comm.max(local.ended_early ? 1 : 0) == 1;
  const bool snapshots = comm.max(local.snapshots_count) > 0;
  const bool nothing = ranks.entries.empty() && !snapshots;
  if (nothing && !ended_early) refuse_nothing(config, problems, comm);
  if (nothing) keep_older_result(config, comm);
  if (!ended_early) refuse_absent_steps(local, config, comm);
  const Groups groups =
      agree_on_groups(local_groups(local, ranks, comm), ranks, input.workload.mesh, comm, problems);
  settle(local, ranks, groups, comm, metrics);

  stopwatch.start("match");
  Matched matched = wants_matching(metrics, config)
                        ? match(local.records, ranks, groups, comm, problems, local.splits)
                        : unmatched(ranks);
  stopwatch.current().items_count = static_cast<std::int64_t>(local.records.size());
  stopwatch.current().sent_bytes = matched.bytes_out + matched.bytes_back;

  // What is done with goes at once, and the next stage takes its memory: graphs leave nearly all they take, closing keeps it.
  stopwatch.start("graph");
  const ClosingContext closing{config, input.workload, ranks, groups, matched.clock, strings};
  stopwatch.current().sent_bytes = close_graphs(local, matched, closing, comm, metrics, problems);

  stopwatch.start("close");
  const std::int64_t sent_by_graph = comm.sent_bytes();
  together(comm, [&] { close(local, matched, closing, comm, metrics); });
  local.segments = {};
  std::vector<FinishedMatrix> matrices = finish_matrices(metrics, comm);
  stopwatch.current().sent_bytes = comm.sent_bytes() - sent_by_graph;
  bool timeline_lacks = false;
  std::string own_clocks;
  if (!config.timeline_export.file.empty()) {
    stopwatch.start("timeline");
    timeline_lacks = !write_timeline({config, input.workload, ranks, groups, matched.clock, local.events, local.windows,
                                      local.records, matched.verdicts, strings, ended_early}, comm);
    if (!timeline_lacks) own_clocks = own_clocks_line(config, ranks, matched.clock);
  }

  local.records = {};
  matched.verdicts = {};
  stopwatch.start("merge");
  // The report folder reads tables of all metrics.
  const std::vector<int> owners = config.output.report_dir.empty() ? share_reports(metrics, comm)
                                                                   : std::vector<int>(metrics.size(), 0);
  stopwatch.current().sent_bytes = merge(metrics, owners, strings, problems, comm);

  stopwatch.start("report");
  Results results{config, input, ranks, groups, matched.clock, matched.mine, {}, std::move(matrices), problems, timings};
  results.partial = ended_early;
  if (config.output.events) results.events = &local.events, results.event_names = &strings;
  const std::int64_t sent_before = comm.sent_bytes();
  report(metrics, owners, closing, problems, comm, results);
  stopwatch.current().sent_bytes = comm.sent_bytes() - sent_before;

  stopwatch.start("write");
  write_results(results, comm);
  stopwatch.stop();
  Outcome said = outcome(results, comm);
  if (comm.is_first()) said.notes += own_clocks;
  if (timeline_lacks && comm.is_first()) said.notes += "no timeline was written: no rank of it had been read yet\n";
  return said;
}

}  // namespace ccl
