// How far the run is, as main shows it. Stages below main only report; they never print.
#pragma once
#include <cstdint>
#include <string_view>

namespace ccl {

/// Given to run() by main. A worker reports its own bytes and files; Comm::report carries the sums to worker 0.
/// stop_requested() turns true on SIGTERM, SIGINT, SIGUSR1 or --time-limit: readers finish or drop their file.
class Progress {
 public:
  virtual ~Progress() = default;
  virtual void stage(std::string_view) {}
  virtual void total(std::int64_t /*files*/, std::int64_t /*bytes*/) {}
  virtual void add_bytes(std::int64_t) {}
  virtual void add_file() {}
  virtual bool stop_requested() const { return false; }
};

}  // namespace ccl
