// Wall and CPU time of the stages of run(), into Timings and onto the progress display.
#pragma once
#include <string>

#include "comm/comm.hpp"
#include "core/progress.hpp"
#include "store/results.hpp"

namespace ccl {

class Stopwatch {
 public:
  /// comm: what each stage sent is read off it; without one it stays as it was set.
  Stopwatch(Timings& timings, Progress& progress, const Comm* comm = nullptr)
      : timings_(timings), progress_(progress), comm_(comm) {}
  /// Ends the stage before, whose row appears in the timings now, and starts one.
  void start(const std::string& stage);
  void stop();
  /// The stage that runs, for what it read, counted and sent.
  StageTime& current() { return current_; }

 private:
  Timings& timings_;
  Progress& progress_;
  const Comm* comm_;
  std::int64_t sent_at_start_bytes_ = 0;
  StageTime current_;  // without a name: none runs
  double wall_start_s_ = 0, cpu_start_s_ = 0;
};

}  // namespace ccl
