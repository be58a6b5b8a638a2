// Wall and CPU time of the stages of run(), into Timings and onto the progress display.
#pragma once
#include <string>

#include "core/progress.hpp"
#include "store/results.hpp"

namespace ccl {

class Stopwatch {
 public:
  Stopwatch(Timings& timings, Progress& progress) : timings_(timings), progress_(progress) {}
  /// Ends the stage before, whose row appears in the timings now, and starts one.
  void start(const std::string& stage);
  void stop();
  /// The stage that runs, for what it read, counted and sent.
  StageTime& current() { return current_; }

 private:
  Timings& timings_;
  Progress& progress_;
  StageTime current_;  // without a name: none runs
  double wall_start_s_ = 0, cpu_start_s_ = 0;
};

}  // namespace ccl
