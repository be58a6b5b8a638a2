#include "core/process_time.hpp"

#include <sys/resource.h>
#include <time.h>

namespace ccl {
namespace {

double seconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

}  // namespace

double wall_seconds() { return seconds(CLOCK_MONOTONIC); }

double cpu_seconds() { return seconds(CLOCK_PROCESS_CPUTIME_ID); }

double thread_cpu_seconds() { return seconds(CLOCK_THREAD_CPUTIME_ID); }

std::int64_t peak_memory_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} * 1024;
}

}  // namespace ccl
