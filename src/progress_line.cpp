#include "progress_line.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "metrics/format.hpp"

namespace ccl {
namespace {

constexpr std::chrono::milliseconds report_interval{500};
constexpr std::chrono::seconds line_interval{10};
constexpr int bar_width = 24;

std::string duration(double seconds) {
  char text[48];
  const auto whole = static_cast<long long>(std::ceil(seconds));
  if (whole < 100)
    std::snprintf(text, sizeof text, "%lld s", whole);
  else if (whole < 6000)
    std::snprintf(text, sizeof text, "%lld min", (whole + 30) / 60);
  else
    std::snprintf(text, sizeof text, "%lld h %02lld min", whole / 3600, whole % 3600 / 60);
  return text;
}

}  // namespace

std::string progress_line(const ProgressState& state, int bar_columns) {
  std::string line = state.stage;
  if (state.files_total <= 0) return line;
  const double known = static_cast<double>(std::max<std::int64_t>(state.bytes_total, 1));
  const double share = std::clamp(static_cast<double>(state.bytes) / known, 0.0, 1.0);
  if (bar_columns > 0) {
    const auto full = static_cast<std::size_t>(share * bar_columns);
    line += " [" + std::string(full, '#') + std::string(static_cast<std::size_t>(bar_columns) - full, '.') + "]";
  }
  line += " " + std::to_string(state.files) + "/" + std::to_string(state.files_total) + " files, " +
          gigabytes(static_cast<double>(state.bytes)) + " of " + gigabytes(static_cast<double>(state.bytes_total));
  if (state.seconds > 0 && state.bytes > 0) {
    const double rate = static_cast<double>(state.bytes) / state.seconds;
    line += ", " + gigabytes(rate) + "/s";
    if (state.bytes < state.bytes_total)
      line += ", " + duration(static_cast<double>(state.bytes_total - state.bytes) / rate) + " left";
  }
  return line;
}

std::string printable(std::string_view text) {
  std::string out(text);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto byte = static_cast<unsigned char>(out[i]);
    const bool control = (byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7f;
    // U+0080–U+009F, the other control characters, as UTF-8.
    const bool second_set = byte == 0xc2 && i + 1 < out.size() && static_cast<unsigned char>(out[i + 1]) >= 0x80 &&
                            static_cast<unsigned char>(out[i + 1]) < 0xa0;
    if (control || second_set) out[i] = '?';
    if (second_set) out[++i] = '?';
  }
  return out;
}

SharedProgress::SharedProgress(const Comm& comm, ProgressStyle style, Write write, const std::atomic<int>& stop,
                               double limit_s)
    : comm_(comm),
      style_(comm.is_first() ? style : ProgressStyle::none),
      write_(std::move(write)),
      stop_(stop),
      limit_s_(limit_s),
      reported_(began_ - report_interval) {}

void SharedProgress::stage(std::string_view name) {
  clear();
  state_.stage = name;
  stage_began_ = Clock::now();
}

void SharedProgress::total(std::int64_t files, std::int64_t bytes) {
  state_.files_total = files;
  state_.bytes_total = bytes;
}

void SharedProgress::add_bytes(std::int64_t bytes) {
  mine_.bytes += bytes;
  refresh();
}

void SharedProgress::add_file() {
  ++mine_.files;
  refresh();
}

bool SharedProgress::stop_requested() const {
  if (stop_.load(std::memory_order_relaxed) > 0) return true;
  return limit_s_ > 0 && std::chrono::duration<double>(Clock::now() - began_).count() >= limit_s_;
}

void SharedProgress::clear() {
  if (bar_on_screen_) write_("\r\x1b[K");
  bar_on_screen_ = false;
}

void SharedProgress::refresh() {
  const Clock::time_point now = Clock::now();
  if (now - reported_ < report_interval) return;
  reported_ = now;
  mine_.stop = stop_requested() ? 1 : 0;
  const Comm::Totals all = comm_.report(mine_);
  if (style_ == ProgressStyle::none) return;
  state_.files = all.files;
  state_.bytes = all.bytes;
  state_.seconds = std::chrono::duration<double>(now - stage_began_).count();
  if (style_ == ProgressStyle::bar) {
    write_(std::string("\r").append(printable(progress_line(state_, bar_width))) + "\x1b[K");
    bar_on_screen_ = true;
  } else if (now - shown_ >= line_interval) {
    shown_ = now;
    write_(printable(progress_line(state_, 0)) + "\n");
  }
}

}  // namespace ccl
