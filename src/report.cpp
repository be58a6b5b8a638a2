#include "report.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <set>

#include <fmt/format.h>

#include "core/wording.hpp"
#include "metrics/card_check.hpp"
#include "metrics/pack_report.hpp"
#include "store/losses.hpp"
#include "store/text_report.hpp"

namespace ccl {
namespace {

constexpr std::size_t most_files_named = 10;

ExitCode planned_exit(const Results& results) {
  if (results.partial) return ExitCode::ended_early;
  const Problems& problems = results.problems;
  const bool losses = problems.count(Severity::data_loss) + problems.count(Severity::error) > 0;
  return losses && results.config.strict ? ExitCode::strict_losses : ExitCode::done;
}

/// "warnings: file_cut 2, no_rank 1 (details in /warnings)"; empty without warnings.
std::string warnings_line(const Problems& problems) {
  std::string codes;
  for (std::size_t i = 0; i < code_count; ++i) {
    const auto code = static_cast<Code>(i);
    if (problems.count(code) == 0) continue;
    codes += fmt::format("{}{} {}", codes.empty() ? "" : ", ", info(code).name, problems.count(code));
  }
  return codes.empty() ? "" : "warnings: " + codes + " (details in /warnings)\n";
}

/// The first problems of a code with file and detail, since a code alone would not tell what to mend.
std::string named_lines(const Problems& problems, Code code, const std::string& what) {
  std::string lines;
  std::size_t named = 0;
  for (const Problem& row : problems.rows())
    if (row.code == code && ++named <= most_files_named)
      lines += fmt::format("{}: {}: {}\n", what, row.file, row.detail);
  return named > most_files_named ? lines + fmt::format("{}: and {} more\n", what, named - most_files_named) : lines;
}

/// Every worker went through the same stages: sums over them, the slowest, and how uneven their CPU time is.
std::string timings_text(const Timings& timings, const std::vector<TraceFile>& files, const Comm& comm) {
  std::string text = "stage      wall s  cpu s mean    max  max/mean      read MB        items   sent bytes  peak MB\n";
  const auto line = [&](const StageTime& stage, std::int64_t items_count) {
    const auto largest = [&](double seconds) {
      return static_cast<double>(comm.max(std::llround(seconds * 1e6))) / 1e6;
    };
    const double wall_s = largest(stage.wall_s), cpu_s = largest(stage.cpu_s);
    const double mean_s = static_cast<double>(comm.sum(std::llround(stage.cpu_s * 1e6))) / 1e6 / comm.num_workers();
    text += fmt::format("{:<9}{:>8.3f} {:>11.3f} {:>6.3f} {:>9.2f} {:>12.1f} {:>12} {:>12} {:>8}\n", stage.stage, wall_s,
                        mean_s, cpu_s, mean_s > 0 ? cpu_s / mean_s : 1.0,
                        static_cast<double>(comm.sum(stage.read_bytes)) * 1e-6, items_count < 0 ? "-" : std::to_string(items_count),
                        comm.sum(stage.sent_bytes), comm.max(stage.peak_memory_bytes) / 1'000'000);
  };
  // A worker that waits in one stage for who is still in the one before is counted in both: they do not add up.
  StageTime all{.stage = "all", .peak_memory_bytes = timings.peak_memory_bytes};
  for (const StageTime& stage : timings.stages) {
    line(stage, comm.sum(stage.items_count));
    all.wall_s += stage.wall_s;
    all.cpu_s += stage.cpu_s;
    all.read_bytes += stage.read_bytes;
    all.sent_bytes += stage.sent_bytes;
  }
  line(all, -1);
  for (const TraceFile& file : files)
    if (file.readers.size() > 1)
      text += fmt::format("{} was shared by {} workers{}\n", file.shown, file.readers.size(),
                          file.format == TraceFormat::kineto ? ": CPU time on processors lent to its first counts there" : "");
  return text + fmt::format("peak memory of a worker {} MB, {} workers\n",
                            comm.max(timings.peak_memory_bytes) / 1'000'000, comm.num_workers());
}

/// Without a file a worker only takes part in what follows the reading. Empty when every worker had one.
std::string idle_workers_line(const std::vector<TraceFile>& files, std::size_t workers) {
  if (workers < 2) return "";
  std::set<std::int32_t> reading;
  for (const TraceFile& file : files) {
    reading.insert(file.owner);
    reading.insert(file.readers.begin(), file.readers.end());
  }
  if (reading.size() >= workers) return "";
  return fmt::format("{} workers for {}: {} had nothing to read\n", workers, counted(files.size(), "trace file"),
                     workers - reading.size());
}

}  // namespace

void report(Metrics& metrics, const std::vector<int>& owners, const ClosingContext& closing, Problems& problems,
            const Comm& comm, Results& results) {
  Bytes told;  // by this worker, to worker 0
  together(comm, [&] {
    Problems found;
    const ReportContext context{closing.config, closing.workload, closing.ranks, closing.groups,
                                closing.clock,  closing.strings,  comm.is_first() ? problems : found};
    const Resolver resolver{[&](StringId id) { return closing.strings.text(id); },
                            [&](GroupId id) { return std::int64_t{closing.groups.row_of(id)}; }};
    if (comm.is_first()) compare_card(context, problems);
    ByteWriter out, finished;
    for (std::size_t i = 0; i < metrics.size(); ++i) {
      MetricResult& result = results.metrics.emplace_back();
      if (owners[i] == comm.worker()) result = metrics[i]->result(context, resolver);
      else result.info = metrics[i]->info();
      metrics[i].reset();  // its rows are in tables now
      if (results.config.output.json) keep_shown(result);
      if (results.config.output.report_dir.empty()) finish_tables(result, finished);  // that folder's files are made of tables
      if (owners[i] == comm.worker() && !comm.is_first()) pack_report(result.report, out);
    }
    results.finished = finished.take();
    out.array(found.pack());
    if (!comm.is_first()) told = out.take();
    metrics.clear();
  });
  const bool shared = std::ranges::any_of(owners, [](int owner) { return owner != 0; });
  if (shared && !comm.is_first()) comm.send(0, told);
  for (int from = 1; shared && comm.is_first() && from < comm.num_workers(); ++from) {
    const Bytes came = comm.receive(from);
    ByteReader in(came);
    for (std::size_t i = 0; i < owners.size(); ++i)
      if (owners[i] == from) unpack_report(in, results.metrics[i].report);
    problems.unite(Problems::unpack(in.array<std::byte>()));
  }
  // Only worker 0 knows the warnings of all.
  const auto mine = comm.is_first() ? planned_exit(results) : ExitCode::done;
  results.exit_code = static_cast<ExitCode>(comm.max(static_cast<int>(mine)));
}

Outcome outcome(const Results& results, const Comm& comm) {
  Outcome out;
  out.exit_code = results.exit_code;
  const OutputConfig& output = results.config.output;
  const std::string timings = output.timings ? timings_text(results.timings, results.input.files, comm) : "";
  std::string report_file;
  together(comm, [&] {
    if (comm.is_first() && !output.report_dir.empty()) report_file = write_text_report(results, std::time(nullptr));
  });
  if (!comm.is_first()) return out;
  out.text = output.json                       ? results_json(results)
             : !results.config.metrics.empty() ? metric_details(results)
                                               : summary_page(results);
  out.notes = warnings_line(results.problems);
  for (const Code code : {Code::card_invalid, Code::config_file_invalid})
    out.notes += named_lines(results.problems, code, std::string(info(code).name));
  for (const std::string& line : loss_lines(results, most_files_named)) out.notes += "lost: " + line + "\n";
  out.notes += named_lines(results.problems, Code::unknown_format, "not read");
  out.notes += timings;
  if (results.partial) out.notes += "ended early: the results cover the files read so far\n";
  if (!output.quiet)
    out.notes += idle_workers_line(results.input.files, static_cast<std::size_t>(comm.num_workers()));
  if (!output.quiet && !report_file.empty()) out.notes += "report: " + report_file + "\n";
  if (!output.quiet) out.notes += "results: " + output.hdf5 + "\n";
  return out;
}

}  // namespace ccl
