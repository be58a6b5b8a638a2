// A rank whose launches were recorded, but hardly any of the kernels that they launched.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace ccl {

/// A call that launches exactly one kernel: cudaLaunchKernel, cuLaunchKernelEx, hipModuleLaunchKernel, …
inline bool launches_a_kernel(std::string_view call) { return call.find("LaunchKernel") != std::string_view::npos; }

/// Of one file. Kernels of before the profiler have no launch, those still queued at its end may be missing, and what is
/// captured into a graph is launched without running; but then graphs are launched.
struct KernelCounts {
  std::int64_t launches = 0, graph_launches = 0, kernels = 0;

  bool too_few() const {
    constexpr std::int64_t fewest_launches = 20;
    return graph_launches == 0 && launches >= fewest_launches && 2 * kernels < launches;
  }
  std::int64_t missing() const { return launches - kernels; }
  std::string text() const {
    return std::to_string(launches) + " launches of kernels, but only " + std::to_string(kernels) + " kernels";
  }
};

}  // namespace ccl
