#include "stopwatch.hpp"

#include "core/process_time.hpp"

namespace ccl {

void Stopwatch::start(const std::string& stage) {
  stop();
  current_.stage = stage;
  wall_start_s_ = wall_seconds();
  cpu_start_s_ = cpu_seconds();
  if (comm_ != nullptr) sent_at_start_bytes_ = comm_->sent_bytes();
  progress_.stage(stage);
}

void Stopwatch::stop() {
  if (current_.stage.empty()) return;
  current_.wall_s = wall_seconds() - wall_start_s_;
  current_.cpu_s = cpu_seconds() - cpu_start_s_;
  if (comm_ != nullptr) current_.sent_bytes = comm_->sent_bytes() - sent_at_start_bytes_;
  timings_.peak_memory_bytes = current_.peak_memory_bytes = peak_memory_bytes();
  timings_.stages.push_back(current_);
  current_ = {};
}

}  // namespace ccl
