// What is kept of a damaged file, and what is said to be lost, must not depend on how much of it is in memory at a
// time, nor on the machine's instructions.
#include <gtest/gtest.h>

#include <random>

#include "support/kineto_text.hpp"
#include "support/numbered.hpp"
#include "support/split_pieces.hpp"

namespace ccl::test {
namespace {

ReadResult read_in(const ScratchFile& file, std::int64_t window_bytes, SplitLevel level, std::size_t limit_bytes) {
  ReadSettings settings;
  settings.limit_bytes = limit_bytes;
  settings.window_bytes = window_bytes;
  settings.level = level;
  return read_path(file.path(), settings);
}

std::string said(const ReadResult& r) {
  std::string out = "lost " + std::to_string(r.trace.lost_events_count) + '\n';
  for (const Problem& row : r.problems.rows())
    out += std::string(info(row.code).name) + " at " + std::to_string(row.offset) + ", " + std::to_string(row.count) + ", " +
           row.detail + '\n';
  for (std::size_t i = 0; i < r.trace.events.size(); ++i)
    out += r.name(i) + ' ' + std::to_string(r.trace.events.start_ns[i]) + '\n';
  return out;
}

void expect_same_in_all_windows(const std::string& text, std::size_t limit_bytes = 10 << 20) {
  const ScratchFile file(text);
  const std::string wanted = said(read_in(file, largest_window_bytes, SplitLevel::scalar, limit_bytes));
  for (const std::int64_t window_bytes : std::initializer_list<std::int64_t>{64, 65, 100, 700, 4096, 70'000, largest_window_bytes})
    for (const SplitLevel level : levels())
      ASSERT_EQ(said(read_in(file, window_bytes, level, limit_bytes)), wanted)
          << "window " << window_bytes << ", level " << static_cast<int>(level) << '\n' << text;
}

std::string frame_text(std::string_view name) {
  return "{\n    \"ph\": \"X\", \"cat\": \"python_function\", \"name\": \"" + std::string(name) +
         "\", \"pid\": 1, \"tid\": 1,\n    \"ts\": 1, \"dur\": 2,\n    \"args\": {\n      \"Python id\": 1, \"Ev Idx\": 7\n    }\n  }";
}

/// Events of Kineto's layout and others, read and unread.
std::string good_events(std::mt19937_64& random, std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) out += ",\n  ";
    const std::string at = std::to_string(10 * i);
    switch (random() % 8) {
      case 0: out += frame_text("a.py(3): f"); break;
      case 1: out += frame_text("a \\\"quoted\\\" C:\\\\x"); break;
      case 2: out += launch_text("cudaLaunchKernel", at, static_cast<int>(i)); break;
      case 3: out += R"({"ph":"X","cat":"kernel","name":"compact","pid":0,"tid":7,"ts":)" + at + R"(,"dur":1,"args":{"device":0,"stream":7}})"; break;
      case 4: out += kernel_text(std::string(random() % 300, 'n'), at, "2"); break;
      case 5: out += R"({"ph": "M", "name": "process_name", "args": {"name": "p"}})"; break;
      default: out += kernel_text(test::numbered("k", i), at, "1", 7, static_cast<int>(i)); break;
    }
  }
  return out;
}

TEST(KinetoWindows, DamageLosesTheSameInAllWindows) {
  std::mt19937_64 random(11);
  const std::string letters = "{}[]\",:\\0-e.\n x\"\"\"";
  for (int round = 0; round < 150; ++round) {
    std::string text = trace_text(good_events(random, 3 + random() % 20), "\"distributedInfo\": {\"rank\": 1},");
    for (std::uint64_t change = 1 + random() % 6; change > 0; --change) {
      const std::size_t at = random() % text.size();
      switch (random() % 4) {
        case 0: text.erase(at, 1 + random() % 60); break;
        case 1: text.insert(at, text.substr(random() % text.size(), random() % 200)); break;
        case 2: text.insert(at, std::string(1 + random() % 400, letters[random() % letters.size()])); break;
        default: text[at] = letters[random() % letters.size()]; break;
      }
    }
    expect_same_in_all_windows(text);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(KinetoWindows, PairedQuotesInUnreadEventsLoseTheSameInAllWindows) {
  std::string events = kernel_text("first", "1", "1");
  for (int i = 0; i < 12; ++i) events += ",\n  " + frame_text(i % 3 == 0 ? "x[\"k\"]" : std::string(static_cast<std::size_t>(i) * 7, 'y'));
  expect_same_in_all_windows(trace_text(events + ",\n  " + kernel_text("last", "5", "1")));
}

TEST(KinetoWindows, ABrokenHeaderHidesTheSameInAllWindows) {
  for (const std::size_t size : {1, 40, 62, 63, 64, 65, 100, 5000})
    for (const std::string& key : {std::string("\"traceEvents\":"), std::string("\"traceEvents\"")}) {
      const std::string text = "{\"a: 1 !" + key + std::string(size, ' ');
      expect_same_in_all_windows(text + "[" + kernel_text("a", "1", "1") + "]}");
      expect_same_in_all_windows(text);
    }
}

TEST(KinetoWindows, LongEventsAreTakenAlikeInAllWindows) {
  std::string list = R"({"name": "x", "bytes": 1})";
  for (int i = 0; i < 3000; ++i) list += R"(, {"name": "x", "args": [1, {}]})";
  const std::string ends = R"(, "list": [[1], "traceName": 2])";
  expect_same_in_all_windows(trace_text(kernel_text("long", "1", "1", 7, 3, ", \"list\": [" + list + "]" + ends) + ",\n  " +
                                        kernel_text("b", "3", "1") + kernel_text("c", "5", "1")));
}

TEST(KinetoWindows, WhatIsTooLargeIsTheSameInAllWindows) {
  const std::string large(9 << 20, 'x');
  expect_same_in_all_windows(trace_text(kernel_text("a", "1", "1") + ",\n  " + kernel_text(large, "2", "1") + ",\n  " +
                                            kernel_text("b", "3", "1") + ",\n  " + kernel_text(large + "\"x\"", "2", "1") +
                                            ",\n  " + kernel_text("c", "3", "1"),
                                        "\"distributedInfo\": {\"rank\": 1, \"more\": \"" + large + "\"},"),
                             5 << 20);
}

}  // namespace
}  // namespace ccl::test
