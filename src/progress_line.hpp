// How far the run is, as one line, and the Progress that asks the other workers for their part. Prints nothing:
// main gives it a place to put lines.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "comm/comm.hpp"
#include "core/progress.hpp"

namespace ccl {

struct ProgressState {
  std::string stage;
  std::int64_t files = 0, files_total = 0, bytes = 0, bytes_total = 0;
  double seconds = 0;  // since the stage began
};

/// "analyze [####......] 12/40 files, 1.2 of 4.0 GB, 812 MB/s, 4 s left"; with bar_columns 0 the bar is left out.
std::string progress_line(const ProgressState& state, int bar_columns);

/// Control characters of file names and messages replaced by '?', so that they cannot drive a terminal. Line ends
/// and tabs stay.
std::string printable(std::string_view text);

enum class ProgressStyle { none, bar, lines };

/// Called from the thread that made it. write gets text for stderr (worker 0 only); stop is set by signals.
class SharedProgress : public Progress {
 public:
  using Write = std::function<void(const std::string&)>;
  SharedProgress(const Comm& comm, ProgressStyle style, Write write, const std::atomic<int>& stop, double limit_s);

  void stage(std::string_view name) override;
  void total(std::int64_t files, std::int64_t bytes) override;
  void add_bytes(std::int64_t bytes) override;
  void add_file() override;
  bool stop_requested() const override;
  /// Takes the bar off the terminal.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  void refresh();

  const Comm& comm_;
  ProgressStyle style_;
  Write write_;
  const std::atomic<int>& stop_;
  double limit_s_;
  Clock::time_point began_ = Clock::now(), stage_began_ = began_, reported_, shown_ = began_;
  Comm::Totals mine_;
  ProgressState state_;
  bool bar_on_screen_ = false;
};

}  // namespace ccl
