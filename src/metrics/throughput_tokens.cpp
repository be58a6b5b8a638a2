// throughput_tokens: how many tokens and samples the run trains on per second.
// Definition: Σ tokens / Σ step time over the steps in the traces; step time = longest CPU step over the ranks; tokens
// of a step = global batch · sequence length.
// Merge: keys are disjoint. Absent when an input is unknown: there are no default sizes.
#include "metrics/step_tokens.hpp"

namespace ccl {
namespace {

struct ThroughputTokens {
  static MetricInfo info() {
    return {.name = "throughput_tokens",
            .unit = "tokens/s",
            .question = "How many tokens does the run train on per second?",
            .definition = "Tokens of the traced steps / summed step time; a step lasts as long as on its slowest rank "
                          "(CPU ProfilerStep) and trains on global batch x sequence length tokens.",
            .needs = "ProfilerStep markers; global batch and sequence length from a workload card, TorchTitan TOML "
                     "or Megatron arguments",
            .section = PageSection::step_time,
            .aliases = {"throughput"},
            .wants = {},
            .purpose = Purpose::training};
  }
  using Tables = RowTables<StepTime>;

  static void local(const RankTrace& trace, const LocalContext&, Tables& out) {
    add_step_times(trace, out.of<StepTime>());
  }

  static void report(const Tables& tables, const ReportContext& context, Report& out) {
    const auto& rows = tables.of<StepTime>();
    const TokenRate rate = token_rate(rows, context);
    if (!rate.missing.empty()) return out.absent(rate.missing);
    const auto tokens = static_cast<double>(rate.tokens_per_step_count), gpus = static_cast<double>(rate.gpus_count);
    const double samples_per_s = rate.tokens_per_s / static_cast<double>(rate.seq_len_count);
    out.value("tokens_per_s", rate.tokens_per_s, "tokens of the traced steps / summed step time");
    out.value("per_gpu_tokens_per_s", rate.tokens_per_s / gpus, "the same / GPUs of the run");
    out.value("samples_per_s", samples_per_s, "sequences per second");
    out.value("tokens_per_step_count", tokens, "global batch x sequence length");
    out.value("gpus_count", gpus, "GPUs of the run: its ranks, times the devices of one");
    out.value("step_mean_ns", rate.total_ns / static_cast<double>(rate.steps.size()), "mean of the slowest rank");
    out.note("inputs", rate.inputs, "values used and where they come from");
    out.extra_tables.push_back(make_table("rows", "throughput of each step as each rank sees it", columns(tokens, gpus), rows));
    out.show(make_table("by_step", "throughput of each step", step_columns(tokens, gpus), rate.steps));
    add_line(out.page, "throughput", whole(rate.tokens_per_s) + " tokens/s, " + whole(rate.tokens_per_s / gpus) +
                                         " per GPU (" + std::to_string(rate.gpus_count) + " GPUs), " +
                                         one_digit(samples_per_s) + " samples/s; " + rate.inputs);
    std::vector<std::string> lines;
    for (const StepLength& step : rate.steps)
      lines.push_back("  " + step_name(step.step) + ": " + milliseconds(static_cast<double>(step.step_ns)) + ", " +
                      whole(per_s(tokens, step.step_ns)) + " tokens/s");
    add_capped(out.details, lines);
  }

 private:
  static double per_s(double tokens, std::int64_t step_ns) { return tokens * 1e9 / static_cast<double>(step_ns); }
  static std::string whole(double value) { return std::to_string(static_cast<std::int64_t>(value + 0.5)); }
  static std::string one_digit(double value) {
    const auto tenths = static_cast<std::int64_t>(value * 10 + 0.5);
    return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10);
  }
  static std::vector<ColumnSpec<StepTime>> columns(double tokens, double gpus) {
    std::vector<ColumnSpec<StepTime>> all = key_columns<StepTime>();
    all.push_back(column("step_ns", &StepTime::step_ns, "ns", "CPU step of this rank"));
    all.push_back(derived<StepTime>("per_gpu_tokens_per_s", "tokens_per_s",
                                    "tokens of the step / (step_ns x GPUs of the run)",
                                    [=](const StepTime& row) { return per_s(tokens, row.step_ns) / gpus; }));
    return all;
  }
  static std::vector<ColumnSpec<StepLength>> step_columns(double tokens, double gpus) {
    std::vector<ColumnSpec<StepLength>> all = key_columns<StepLength>();
    all.push_back(column("step_ns", &StepLength::step_ns, "ns", "CPU step of the slowest rank"));
    all.push_back(derived<StepLength>("tokens_per_s", "tokens_per_s", "tokens of the step / step_ns",
                                      [=](const StepLength& row) { return per_s(tokens, row.step_ns); }));
    all.push_back(derived<StepLength>("per_gpu_tokens_per_s", "tokens_per_s", "tokens_per_s / GPUs of the run",
                                      [=](const StepLength& row) { return per_s(tokens, row.step_ns) / gpus; }));
    return all;
  }
};

}  // namespace

std::unique_ptr<Metric> throughput_tokens() { return define_metric<ThroughputTokens>(); }

}  // namespace ccl
