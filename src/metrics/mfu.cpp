// mfu: what share of the GPUs' peak the model's arithmetic reaches.
// Definition: model FLOP per token · tokens/s / (GPUs · dense peak) (PaLM, appendix B).
// Conventions: torchtitan 6·(N − N_embedding) + 12·L·H·Q·T; palm 6·N + 12·L·H·Q·T; megatron as torchtitan with half the
// attention (causal). N counts active parameters; recomputation is not counted. Merge: keys are disjoint.
#include <cmath>

#include <fmt/format.h>

#include "core/lower_case.hpp"
#include "metrics/hardware.hpp"
#include "metrics/model_flops.hpp"
#include "metrics/step_tokens.hpp"

namespace ccl {
namespace {

struct Mfu {
  static MetricInfo info() {
    return {.name = "mfu",
            .unit = "%",
            .question = "What share of the GPUs' peak does the model's arithmetic reach?",
            .definition = "FLOP per token x tokens/s / (GPUs x dense peak). FLOP per token by --mfu-convention: "
                          "torchtitan 6(N - N_embedding) + 12 L H Q T, palm 6 N + 12 L H Q T, megatron 6(N - "
                          "N_embedding) + 6 L H Q T; N = active parameters, L layers, H heads of width Q, T tokens per "
                          "sequence, at most the sliding window. Recomputation is not counted. FP8 runs are put against the bf16 peak.",
            .needs = "what throughput_tokens needs, the model's sizes from a workload card, and a GPU of "
                     "configs/hardware.yaml or --peak bf16_flops_per_s=VALUE",
            .section = PageSection::step_time,
            .aliases = {},
            .wants = {},
            .purpose = Purpose::training};
  }
  using Tables = RowTables<StepTime>;

  static void local(const RankTrace& trace, const LocalContext&, Tables& out) {
    add_step_times(trace, out.of<StepTime>());
  }

  static void report(const Tables& tables, const ReportContext& context, Report& out) {
    const TokenRate rate = token_rate(tables.of<StepTime>(), context);
    if (!rate.missing.empty()) return out.absent(rate.missing);
    const std::string& convention = context.config.mfu_convention;
    const ModelSize model = model_size(context.workload, convention);
    if (!model.missing.empty()) return out.absent(model.missing);
    const Hardware hardware = find_hardware(context);
    const std::string type = peak_of(context.workload);
    const Peak peak = hardware.peak(type);
    if (!peak.known()) return out.absent("the peak of this GPU is unknown (give --peak " + type + "=VALUE)");

    const double flops = flops_per_token(model, convention, static_cast<double>(rate.seq_len_count), context.workload);
    const double whole_peak = peak.value * static_cast<double>(rate.gpus_count);
    const double mfu = flops * rate.tokens_per_s / whole_peak;
    out.value("mfu_ratio", mfu, "model FLOP/s / peak of all GPUs");
    out.value("per_token_flops", flops, "model FLOP per token");
    out.value("per_gpu_flops_per_s", flops * rate.tokens_per_s / static_cast<double>(rate.gpus_count), "model FLOP/s of a GPU");
    out.value("peak_flops_per_s", peak.value, "dense peak of a GPU");
    out.value("tokens_per_s", rate.tokens_per_s, "as throughput_tokens");
    out.note("convention", convention, "how the FLOP per token are counted");
    out.note("peak_source", peak.source + ", " + type, "where the peak comes from");
    out.note("inputs", model.inputs + "; " + rate.inputs, "values used and where they come from");
    out.extra_tables.push_back(make_table("rows", "MFU of each step", columns(flops * static_cast<double>(rate.tokens_per_step_count), whole_peak), rate.steps));
    if (mfu > 1) {
      const std::string detail = fmt::format("MFU {:.1f} %: {}; {}", mfu * 100, model.inputs, rate.inputs);
      context.problems.add({.code = Code::mfu_over_100, .detail = detail});
    }
    add_line(out.page, "MFU", fmt::format("{} of {:.0f} TFLOP/s ({}, dense {}); convention {}{}", percent(mfu),
                                          peak.value / 1e12, peak.source, type.substr(0, type.find('_')), convention,
                                          precision_note(context.workload)));
    std::vector<std::string> lines{"  " + model.inputs, "  " + rate.inputs,
                                   fmt::format("  {:.4g} FLOP per token, {} GPUs", flops, rate.gpus_count)};
    add_capped(out.details, lines);
  }

 private:
  static std::string peak_of(const Workload& workload) {
    const std::string precision = lower_case(workload.precision.value.value_or(""));
    const bool single = precision == "fp32" || precision == "float32" || precision == "tf32";
    return single ? "tf32_flops_per_s" : "bf16_flops_per_s";
  }
  static std::string precision_note(const Workload& workload) {
    if (!workload.precision) return "; the precision is not stated";
    return workload.precision.value->find("8") != std::string::npos ? "; an FP8 run against the bf16 peak" : "";
  }

  static std::vector<ColumnSpec<StepLength>> columns(double step_flops, double whole_peak) {
    std::vector<ColumnSpec<StepLength>> all = key_columns<StepLength>();
    all.push_back(column("step_ns", &StepLength::step_ns, "ns", "CPU step of the slowest rank"));
    all.push_back(derived<StepLength>("model_flops_per_s", "flops_per_s", "model FLOP of the step / step_ns, all GPUs",
                                      [=](const StepLength& row) { return step_flops * 1e9 / static_cast<double>(row.step_ns); }));
    all.push_back(derived<StepLength>("mfu_ratio", "", "model_flops_per_s / peak of all GPUs", [=](const StepLength& row) {
      return step_flops * 1e9 / static_cast<double>(row.step_ns) / whole_peak;
    }));
    return all;
  }
};

}  // namespace

std::unique_ptr<Metric> mfu() { return define_metric<Mfu>(); }

}  // namespace ccl
