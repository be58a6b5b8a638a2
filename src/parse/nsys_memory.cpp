// Device memory that a process takes and gives back, as Nsight Systems lists it (--cuda-memory-usage=true).
#include <algorithm>
#include <map>

#include "parse/nsys_build.hpp"

namespace ccl {

void NsysBuild::memory(std::uint64_t process_key, std::int32_t device, std::int64_t time_ns,
                       std::int64_t change_bytes) {
  process(processless_ ? 0 : process_key).trace.memory_usage.push_back({time_ns, -1, change_bytes, device});
}

/// Changes -> what is taken after each of them, in order of time.
void NsysBuild::sum_memory(RankTrace& trace) {
  std::stable_sort(trace.memory_usage.begin(), trace.memory_usage.end(),
                   [](const MemoryUsage& a, const MemoryUsage& b) { return a.time_ns < b.time_ns; });
  std::map<std::int32_t, std::int64_t> taken;
  for (MemoryUsage& usage : trace.memory_usage) {
    std::int64_t& now = taken[usage.device];
    // What was taken before the capture can be given back in it.
    now = std::max<std::int64_t>(0, now + usage.reserved_bytes);
    usage.reserved_bytes = now;
  }
}

}  // namespace ccl
