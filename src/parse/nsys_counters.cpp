// Hardware counters of an nsys export (--gpu-metrics-devices): samples of a whole GPU, given to the process that has it.
#include <algorithm>
#include <set>

#include "parse/nsys_build.hpp"

namespace ccl {
namespace {

/// "SMs Active [Throughput %]" -> "SMs Active". Only percentages of a peak are kept: of SMs, memory and links.
std::string_view percentage(std::string_view name) {
  const std::size_t unit = name.find(" [");
  if (unit != std::string_view::npos && name.find('%', unit) == std::string_view::npos) return {};
  name = name.substr(0, unit);
  static constexpr std::string_view kinds[] = {"sm ", "sms ", "tensor ", "dram ", "nvlink ", "pcie "};
  const auto begins = [&](std::string_view kind) {
    return name.size() > kind.size() && std::equal(kind.begin(), kind.end(), name.begin(), [](char a, char b) {
             return a == (b >= 'A' && b <= 'Z' ? static_cast<char>(b + 32) : b);
           });
  };
  return std::any_of(std::begin(kinds), std::end(kinds), begins) ? name : std::string_view();
}

}  // namespace

void NsysBuild::gpu_ordinal(std::int64_t gpu_id, std::int64_t pid, std::int64_t ordinal) {
  ordinals_.emplace(std::pair(gpu_id, pid), ordinal);
}

void NsysBuild::counter_name(std::int64_t type, std::int64_t metric, std::string_view name) {
  if (const std::string_view kept = percentage(name.substr(0, name.find('\0'))); !kept.empty())
    counter_names_[{type, metric}] = texts_.index(kept);
}

void NsysBuild::counter(std::int64_t time_ns, std::int64_t type, std::int64_t metric, std::int64_t value) {
  constexpr std::int64_t most = 100;
  samples_.push_back({time_ns, type, metric, static_cast<std::int32_t>(std::clamp<std::int64_t>(value, 0, most))});
}

void NsysBuild::add_counters(std::uint64_t key, Process& process) const {
  RankTrace& trace = process.trace;
  const auto pid = static_cast<std::int64_t>(key & 0xFFFFFF);
  std::set<std::int64_t> devices;
  for (const Lane& lane : trace.lanes) devices.insert(lane.device);
  struct Source {
    std::int64_t device = -1;  // −1: of a GPU that this process does not use, or a counter that is not kept
    std::uint32_t name = 0;
  };
  std::map<std::pair<std::int64_t, std::int64_t>, Source> sources;  // by type and metric
  for (const auto& [counter, name] : counter_names_) {
    constexpr std::int64_t gpu_bits = 0xFF;
    const std::int64_t gpu_id = counter.first & gpu_bits;
    auto ordinal = ordinals_.find({gpu_id, pid});
    if (ordinal == ordinals_.end()) ordinal = ordinals_.find({gpu_id, -1});
    const std::int64_t device = ordinal == ordinals_.end() ? gpu_id : ordinal->second;
    if (devices.contains(device)) sources[counter] = {device, trace.strings.index(texts_.text(name))};
  }
  for (const Sample& sample : samples_) {
    const auto source = sources.find({sample.type, sample.metric});
    if (source != sources.end())
      trace.counters.push_back({sample.time_ns, static_cast<std::int32_t>(source->second.device), source->second.name,
                                sample.percent});
  }
  std::sort(trace.counters.begin(), trace.counters.end(), [](const CounterSample& a, const CounterSample& b) {
    return std::tie(a.time_ns, a.device, a.name, a.percent) < std::tie(b.time_ns, b.device, b.name, b.percent);
  });
}

}  // namespace ccl
