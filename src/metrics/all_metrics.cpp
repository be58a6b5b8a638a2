#include "metrics/all_metrics.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/lower_case.hpp"

namespace ccl {

std::unique_ptr<Metric> straggler_lag();
std::unique_ptr<Metric> iter_time();
std::unique_ptr<Metric> throughput_tokens();
std::unique_ptr<Metric> mfu();
std::unique_ptr<Metric> comm_comp_overlap();
std::unique_ptr<Metric> pipeline_bubble();
std::unique_ptr<Metric> gpu_utilization();
std::unique_ptr<Metric> coll_call_num();
std::unique_ptr<Metric> traffic_distribution();
std::unique_ptr<Metric> communication();
std::unique_ptr<Metric> bandwidth();
std::unique_ptr<Metric> straggler();
std::unique_ptr<Metric> kernel();
std::unique_ptr<Metric> variability();
std::unique_ptr<Metric> sm();
std::unique_ptr<Metric> traffic_window();
std::unique_ptr<Metric> clock();
std::unique_ptr<Metric> training_phases();
std::unique_ptr<Metric> microbatch();
std::unique_ptr<Metric> cpu_overhead();
std::unique_ptr<Metric> token_to_expert_assignment();
std::unique_ptr<Metric> fsdp();
std::unique_ptr<Metric> hardware_saturation();
std::unique_ptr<Metric> blocking_comm();
std::unique_ptr<Metric> efficiency();
std::unique_ptr<Metric> critical_path();
std::unique_ptr<Metric> what_if();
std::unique_ptr<Metric> memory();
std::unique_ptr<Metric> stage_overlap();
std::unique_ptr<Metric> stream_roles();
std::unique_ptr<Metric> ttft();
std::unique_ptr<Metric> tpot();
std::unique_ptr<Metric> timeline();

namespace {

using MakeMetric = std::unique_ptr<Metric> (*)();

/// The only place where a metric is registered.
// clang-format off
constexpr MakeMetric registered[] = {
    straggler_lag,
    iter_time,
    throughput_tokens,
    mfu,
    ttft,
    tpot,
    comm_comp_overlap,
    pipeline_bubble,
    gpu_utilization,
    memory,
    coll_call_num,
    traffic_distribution,
    communication,
    bandwidth,
    straggler,
    kernel,
    variability,
    sm,
    traffic_window,
    clock,
    training_phases,
    microbatch,
    cpu_overhead,
    token_to_expert_assignment,
    fsdp,
    hardware_saturation,
    blocking_comm,
    efficiency,
    critical_path,
    what_if,
    stage_overlap,
    stream_roles,
    timeline,
};
// clang-format on

bool answers_to(const MetricInfo& info, const std::string& name) {
  if (lower_case(info.name) == name) return true;
  return std::any_of(info.aliases.begin(), info.aliases.end(),
                     [&](const std::string& alias) { return lower_case(alias) == name; });
}

/// Labels of the page and words people use, by the metric that answers them.
constexpr std::pair<std::string_view, std::string_view> words_of[] = {
    {"straggler_lag", "late lag wait waiting blame delay slow slowrank slowlink"},
    {"iter_time", "step steptime period"},
    {"throughput_tokens", "tokens"},
    {"comm_comp_overlap", "exposed"},
    {"pipeline_bubble", "bubble"},
    {"traffic_distribution", "traffic bytes"},
    {"traffic_window", "windows"},
    {"gpu_utilization", "gpu"},
    {"coll_call_num", "calls"},
    {"communication", "busbw"},
    {"bandwidth", "transfer slowlinks"},
    {"straggler", "compute imbalance"},
    {"kernel", "kernels"},
    {"training_phases", "phases"},
    {"token_to_expert_assignment", "experts"},
    {"cpu_overhead", "cpu launch"},
    {"hardware_saturation", "hardware"},
    {"blocking_comm", "blocking"},
    {"stage_overlap", "stages"},
    {"stream_roles", "streams"},
    {"what_if", "speedup ideal s"},
};

bool holds_word(std::string_view words, const std::string& word, char between) {
  const std::string all = between + std::string(words) + between;
  return all.find(between + word + between) != std::string::npos;
}

/// The metric a word may mean: by the table, one whose name holds it ("path"), or one spelled alike.
std::string suggested(const std::string& asked, const std::vector<std::string>& known) {
  std::string word;
  for (const char c : lower_case(asked))
    if (c != '-' && c != ' ' && c != '_') word += c;
  for (const auto& [metric, words] : words_of)
    if (holds_word(words, word, ' ')) return std::string(metric);
  for (const std::string& name : known)
    if (holds_word(name, word, '_')) return name;
  return closest(lower_case(asked), known);
}

}  // namespace

std::vector<MetricInfo> metric_list() {
  std::vector<MetricInfo> all;
  for (const MakeMetric make : registered) all.push_back(make()->info());
  return all;
}

std::vector<std::unique_ptr<Metric>> start_metrics(const std::vector<std::string>& names) {
  const std::vector<MetricInfo> list = metric_list();
  std::vector<bool> asked(list.size(), names.empty());
  for (const std::string& name : names) {
    const std::string lower = lower_case(name);
    bool found = false;
    for (std::size_t i = 0; i < list.size(); ++i)
      if (answers_to(list[i], lower)) asked[i] = found = true;
    if (found) continue;
    std::vector<std::string> known;
    for (const MetricInfo& info : list) {
      known.push_back(info.name);
      known.insert(known.end(), info.aliases.begin(), info.aliases.end());
    }
    const std::string near = suggested(name, known);
    throw FatalError(ExitCode::bad_request,
                     "metric '" + name + "' (no such metric). " +
                         (near.empty() ? "See --list-metrics." : "Did you mean '" + near + "'?"));
  }
  std::vector<std::unique_ptr<Metric>> chosen;
  for (std::size_t i = 0; i < list.size(); ++i)
    if (asked[i]) chosen.push_back(registered[i]());
  return chosen;
}

}  // namespace ccl
