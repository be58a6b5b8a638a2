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
  /// Bytes that a stage sent to other workers.
  void add_bytes(const std::string& stage, std::int64_t bytes);

 private:
  Timings& timings_;
  Progress& progress_;
  std::string stage_;  // empty: none runs
  double wall_start_s_ = 0, cpu_start_s_ = 0;
};

}  // namespace ccl
