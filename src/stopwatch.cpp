#include "stopwatch.hpp"

#include <sys/resource.h>
#include <time.h>

namespace ccl {
namespace {

double seconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

std::int64_t peak_memory_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} * 1024;
}

}  // namespace

void Stopwatch::start(const std::string& stage) {
  stop();
  current_.stage = stage;
  wall_start_s_ = seconds(CLOCK_MONOTONIC);
  cpu_start_s_ = seconds(CLOCK_PROCESS_CPUTIME_ID);
  progress_.stage(stage);
}

void Stopwatch::stop() {
  if (current_.stage.empty()) return;
  current_.wall_s = seconds(CLOCK_MONOTONIC) - wall_start_s_;
  current_.cpu_s = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu_start_s_;
  timings_.peak_memory_bytes = current_.peak_memory_bytes = peak_memory_bytes();
  timings_.stages.push_back(current_);
  current_ = {};
}

}  // namespace ccl
