// tpot: time per output token of a serving run, and its output and request rates.
// Definition: mean over the decode passes of their duration on the slowest rank; beside it what the benchmark's result
// file says. Merge: keys are disjoint.
#include <algorithm>
#include <cmath>

#include "core/statistics.hpp"
#include "metrics/inference_passes.hpp"

namespace ccl {
namespace {

struct Tpot {
  static MetricInfo info() {
    return {.name = "tpot",
            .unit = "ms",
            .question = "How long does each further token take, and how many are that a second?",
            .definition =
                "Mean over decode passes of their duration on the slowest rank. Output tokens a second = tokens of the "
                "decode passes / time from the start of the first to the end of the last, one replica. Beside it the "
                "benchmark's result file (TPOT, output and request throughput).",
            .needs = "markers of vLLM (…_generation_…) or SGLang (step[DECODE …]), or a result file of a benchmark",
            .section = PageSection::step_time,
            .aliases = {"output_throughput", "request_throughput"},
            .wants = {.annotations = true},
            .purpose = Purpose::inference};
  }
  using Tables = RowTables<PassRow>;

  static void local(const RankTrace& trace, const LocalContext&, Tables& out) {
    add_passes(
        trace, [](PassKind kind) { return kind != PassKind::prefill; }, out.of<PassRow>());
  }

  static void report(const Tables& tables, const ReportContext& context, Report& out) {
    const BenchResult& bench = context.workload.bench;
    const std::vector<PassLength> passes = over_ranks(tables.of<PassRow>());
    const bool benched = !std::isnan(bench.mean_tpot_s) || !std::isnan(bench.median_tpot_s) ||
                         !std::isnan(bench.output_tokens_per_s) || !std::isnan(bench.requests_per_s) ||
                         !std::isnan(bench.mean_latency_s);
    if (passes.empty() && !benched) {
      const std::string why = "neither decode markers of vLLM or SGLang nor a benchmark result";
      return context.workload.phase.value.value_or("") == "inference" ? out.absent(why) : out.not_applicable(why);
    }
    std::string line;
    if (!passes.empty()) line = report_passes(passes, out) + report_communication(tables.of<PassRow>(), context.ranks, out);
    if (benched) line += (line.empty() ? "" : "; ") + report_bench(bench, out);
    add_line(out.page, "TPOT", line);
  }

 private:
  static std::string whole(double value) { return std::isnan(value) ? "unknown" : std::to_string(std::llround(value)); }

  static std::string report_passes(const std::vector<PassLength>& passes, Report& out) {
    std::vector<double> lengths;
    std::int64_t tokens = 0, until_ns = passes.front().start_ns, from_ns = passes.front().start_ns;
    const PassLength& first = passes.front();
    for (const PassLength& pass : passes) {
      lengths.push_back(static_cast<double>(pass.dur_ns));
      if (pass.iteration != first.iteration || pass.replica != first.replica) continue;
      tokens += pass.tokens_count;
      from_ns = std::min(from_ns, pass.start_ns);
      until_ns = std::max(until_ns, pass.start_ns + pass.dur_ns);
    }
    const double seconds = static_cast<double>(until_ns - from_ns) / 1e9;
    const double rate = tokens > 0 && seconds > 0 ? static_cast<double>(tokens) / seconds : std::nan("");
    out.value("tpot_ns", mean(lengths), "mean decode pass on the slowest rank");
    out.value("tpot_p99_ns", percentile(lengths, 99), "99th percentile of the decode passes");
    out.value("passes_count", static_cast<double>(lengths.size()), "decode passes");
    out.value("output_tokens_per_s", rate, "tokens of the decode passes / their time, one replica");
    return milliseconds(mean(lengths)) + " mean of " + std::to_string(lengths.size()) + " decode pass" +
           (lengths.size() == 1 ? "" : "es") + ", " + whole(rate) + " output tokens/s in them; ";
  }

  static std::string report_bench(const BenchResult& bench, Report& out) {
    out.value("bench_mean_s", bench.mean_tpot_s, "mean in the benchmark's result file");
    out.value("bench_median_s", bench.median_tpot_s, "median in the benchmark's result file");
    out.value("bench_output_tokens_per_s", bench.output_tokens_per_s, "output throughput in the result file");
    out.value("bench_requests_per_s", bench.requests_per_s, "request throughput in the result file");
    out.value("bench_mean_latency_s", bench.mean_latency_s, "mean latency of a request in the result file");
    std::string text = "benchmark: mean " + milliseconds(bench.mean_tpot_s * 1e9) + ", median " +
                       milliseconds(bench.median_tpot_s * 1e9) + ", " + whole(bench.output_tokens_per_s) +
                       " output tokens/s, " + whole(bench.requests_per_s * 60) + " requests/min";
    if (!std::isnan(bench.mean_latency_s)) text += ", latency " + milliseconds(bench.mean_latency_s * 1e9);
    return text + " (" + bench.file + ")";
  }
};

}  // namespace

std::unique_ptr<Metric> tpot() { return define_metric<Tpot>(); }

}  // namespace ccl
