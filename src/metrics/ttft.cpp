// ttft: time to first token of a serving run.
// Definition: duration of the first prefill pass on the slowest rank, a proxy without queueing; beside it what the
// benchmark's result file says. Merge: keys are disjoint.
#include <cmath>

#include "core/statistics.hpp"
#include "metrics/inference_passes.hpp"

namespace ccl {
namespace {

struct Ttft {
  static MetricInfo info() {
    return {.name = "ttft",
            .unit = "ms",
            .question = "How long does a request wait for its first token?",
            .definition =
                "Duration of the first prefill pass on the slowest rank: a lower bound, without queueing. Beside it "
                "mean and median of the benchmark's result file, and how much of the prefill is communication.",
            .needs = "markers of vLLM (execute_context_…) or SGLang (step[EXTEND …]), or a result file of a benchmark",
            .section = PageSection::step_time,
            .aliases = {},
            .wants = {.annotations = true},
            .purpose = Purpose::inference};
  }
  using Tables = RowTables<PassRow>;

  static void local(const RankTrace& trace, const LocalContext&, Tables& out) {
    add_passes(
        trace, [](PassKind kind) { return kind != PassKind::decode; }, out.of<PassRow>());
  }

  static void report(const Tables& tables, const ReportContext& context, Report& out) {
    const BenchResult& bench = context.workload.bench;
    const std::vector<PassLength> passes = over_ranks(tables.of<PassRow>());
    const bool benched = !std::isnan(bench.mean_ttft_s) || !std::isnan(bench.median_ttft_s);
    if (passes.empty() && !benched) {
      const std::string why = "neither prefill markers of vLLM or SGLang nor a benchmark result with a TTFT";
      return context.workload.phase.value.value_or("") == "inference" ? out.absent(why) : out.not_applicable(why);
    }
    std::string line;
    if (!passes.empty()) {
      std::vector<double> lengths;
      for (const PassLength& pass : passes) lengths.push_back(static_cast<double>(pass.dur_ns));
      out.value("ttft_ns", lengths.front(), "first prefill pass on the slowest rank");
      out.value("until_gpu_end_ns", static_cast<double>(passes.front().whole_ns), "the same until its GPU work ended");
      out.value("prefill_mean_ns", mean(lengths), "mean over prefill passes");
      out.value("passes_count", static_cast<double>(lengths.size()), "prefill passes");
      line = milliseconds(lengths.front()) + " for the first prefill pass, " +
             milliseconds(static_cast<double>(passes.front().whole_ns)) + " until its GPU work ended";
      if (lengths.size() > 1)
        line += " (mean of " + std::to_string(lengths.size()) + " passes: " + milliseconds(mean(lengths)) + ")";
      line += "; " + report_communication(tables.of<PassRow>(), context.ranks, out);
    }
    if (benched) {
      out.value("bench_mean_s", bench.mean_ttft_s, "mean in the benchmark's result file");
      out.value("bench_median_s", bench.median_ttft_s, "median in the benchmark's result file");
      line += (line.empty() ? "" : "; ") + std::string("benchmark: mean ") + milliseconds(bench.mean_ttft_s * 1e9) +
              ", median " + milliseconds(bench.median_ttft_s * 1e9) + " (" + bench.file + ")";
    }
    add_line(out.page, "TTFT", line);
  }
};

}  // namespace

std::unique_ptr<Metric> ttft() { return define_metric<Ttft>(); }

}  // namespace ccl
