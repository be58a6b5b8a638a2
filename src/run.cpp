#include "run.hpp"

#include <algorithm>
#include <filesystem>

#include "analyze.hpp"
#include "core/freed_memory.hpp"
#include "exchange/communicators.hpp"
#include "exchange/merge.hpp"
#include "metrics/all_metrics.hpp"
#include "metrics/hardware.hpp"
#include "parse/config_files.hpp"
#include "report.hpp"
#include "stopwatch.hpp"
#include "store/timeline_export.hpp"

namespace ccl {
namespace {

/// As worker 0 reads them: a settings file need not exist on every node.
std::string shared_settings(const std::string& name, const Config& config, const Comm& comm) {
  std::string text;
  together(comm, [&] {
    if (comm.is_first()) text = merged_settings(name, config);
  });
  ByteWriter out;
  out.text(text);
  return ByteReader(comm.broadcast(out.take())).text();
}

/// Files that were there and told nothing: a bad request, as if there were none. Says why, of the first few.
void refuse_nothing(const Config& config, const Problems& mine, const Comm& comm) {
  constexpr std::size_t shown_most = 8;
  Problems all;
  for (const Bytes& part : comm.gather_all(mine.pack())) all.unite(Problems::unpack(part));
  std::vector<std::pair<std::string, std::string>> files;  // each once, with all that is wrong with it
  bool only_rank_unknown = false;
  for (const Problem& row : all.rows()) {
    if (info(row.code).severity == Severity::notice && row.code != Code::no_gpu_events) continue;
    if (row.file.empty()) continue;
    auto at = std::find_if(files.begin(), files.end(), [&](const auto& file) { return file.first == row.file; });
    const bool first = at == files.end();
    if (first) at = files.insert(at, {row.file, ""});
    at->second += (first ? "" : " and ") + std::string(info(row.code).name);
    if (!row.detail.empty()) at->second += ", " + row.detail;
  }
  std::string why;
  for (std::size_t i = 0; i < files.size(); ++i) {
    only_rank_unknown = only_rank_unknown || files[i].second == info(Code::no_rank).name;
    if (i < shown_most) why += (i == 0 ? "" : ", ") + files[i].first + ": " + files[i].second;
  }
  if (files.size() > shown_most) why += ", and " + std::to_string(files.size() - shown_most) + " more";
  const bool no_gpu = all.count(Code::no_gpu_events) > 0;
  throw FatalError(ExitCode::bad_request,
                   "no usable trace in " + config.input.folders.front() + " (" + why + ")" +
                       (only_rank_unknown ? " see --rank-regex if only file names tell the ranks"
                        : no_gpu          ? " profile with ProfilerActivity.CUDA"
                                          : ""));
}

/// Nothing was read before the end was asked for: an older result says more than an empty one.
void keep_older_result(const Config& config, const Comm& comm) {
  together(comm, [&] {
    std::error_code error;
    if (comm.is_first() && std::filesystem::file_size(config.output.hdf5, error) > 0 && !error)
      throw FatalError(ExitCode::ended_early,
                       "ended early (no trace had been read yet) " + config.output.hdf5 + " is left as it was");
  });
}

}  // namespace

Outcome run(const Config& config, const Comm& comm, Progress& progress) {
  Problems problems;
  StringTable strings;
  Timings timings;
  Stopwatch stopwatch(timings, progress, &comm);
  Metrics metrics = start_metrics(config.metrics);
  const std::string kernels = shared_settings("kernels", config, comm);
  const std::string megatron = shared_settings("megatron", config, comm);
  const Classifier classifier(kernels, {megatron, shared_settings("torchtitan", config, comm)});
  check_hardware_settings(shared_settings("hardware", config, comm));
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

  stopwatch.start("close");
  const ClosingContext closing{config, input.workload, ranks, groups, matched.clock, strings};
  together(comm, [&] { close(local, matched, closing, comm, metrics); });
  local.segments = {};  // from here on what is done with goes at once: the next stage takes its memory

  stopwatch.start("graph");
  stopwatch.current().sent_bytes = close_graphs(local, matched, closing, comm, metrics, problems);
  bool timeline_lacks = false;
  if (!config.timeline_export.file.empty()) {
    stopwatch.start("timeline");
    timeline_lacks = !write_timeline({config, input.workload, ranks, groups, matched.clock, local.events, local.windows,
                                      local.records, matched.verdicts, strings, ended_early}, comm);
  }

  local.records = {};
  matched.verdicts = {};
  stopwatch.start("merge");
  // The report folder reads tables of all metrics.
  const std::vector<int> owners = config.output.report_dir.empty() ? share_reports(metrics, comm)
                                                                   : std::vector<int>(metrics.size(), 0);
  stopwatch.current().sent_bytes = merge(metrics, owners, strings, problems, comm);

  stopwatch.start("report");
  Results results{config, input, ranks, groups, matched.clock, matched.mine, {}, {}, problems, timings};
  results.partial = ended_early;
  if (config.output.events) results.events = &local.events, results.event_names = &strings;
  const std::int64_t sent_before = comm.sent_bytes();
  report(metrics, owners, closing, problems, comm, results);
  stopwatch.current().sent_bytes = comm.sent_bytes() - sent_before;

  stopwatch.start("write");
  write_results(results, comm);
  stopwatch.stop();
  Outcome said = outcome(results, comm);
  if (timeline_lacks && comm.is_first()) said.notes += "no timeline was written: no rank of it had been read yet\n";
  return said;
}

}  // namespace ccl
