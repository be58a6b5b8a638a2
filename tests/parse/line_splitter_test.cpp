#include "parse/line_splitter.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "support/split_pieces.hpp"

namespace ccl {
namespace {

using test::levels;
using test::split;
using test::Split;

std::string lines(const std::string& members) { return "\n  {\n    " + members + "\n  },"; }

void expect_same(const std::string& text, std::size_t piece, std::size_t capacity) {
  const Split expected = split(split_events, text, SplitLevel::scalar, text.size(), 4096);
  for (const SplitLevel level : levels())
    ASSERT_EQ(split(split_lines, text, level, piece, capacity), expected) << text;
}

TEST(LineSplitter, FindsWhatTheOtherSplitterFinds) {
  const std::vector<std::string> events{
      lines(R"("ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1,)"
            "\n    \"ts\": 1.5, \"dur\": 2,\n    \"args\": {\n      \"External id\": 1\n    }"),
      lines(R"("name": "process_name", "ph": "M", "args": {"labels": "CPU"})"),
      lines(R"("ph": "s", "id": 7)"),
      lines(R"("ph": "X", "name": "a brace } alone")"),
      lines(R"("ph": "X", "name": "an \"escape\" and a path C:\\x")"),
      lines("\"ph\": \"X\", \"name\": \"a line\n  } inside\""),
      lines("\"ph\": \"X\", \"args\": {\"list\": [{\"a\": 1},\n  {\n    \"b\": 2\n  },\n  {\n    \"c\": 3\n  }]}"),
      lines(R"("ph": "X", "name": ")" + std::string(700, 'k') + '"'),
      R"({"ph":"X","name":"compact"},)",
      " {} ,",
      ",\n  "};
  std::mt19937_64 random(3);
  for (int round = 0; round < 1500; ++round) {
    std::string text;
    const std::size_t kinds = round % 3 == 0 ? 3 : events.size();
    while (text.size() < 3000) text += events[random() % kinds];
    text += "\n  ]";
    expect_same(text, 1 + random() % 1500, round % 2 == 0 ? 64 : 128);
  }
}

TEST(LineSplitter, SeesAQuoteTooManyAndTheEndOfTheList) {
  const std::string good = lines(R"("ph": "X", "name": "a")");
  for (std::size_t before = 0; before < 12; ++before) {
    std::string text;
    for (std::size_t i = 0; i < before; ++i) text += good;
    expect_same(text + lines(R"("ph": "X", "name": "a"b")") + good + std::string(200, ' '), 100000, 4096);
    expect_same(text + "\n  ], \"n\": 2}" + good + std::string(200, ' '), 100000, 4096);
    expect_same(text + "\n  {\n    \"ph\": \"X\", \"args\": {" + std::string(200, ' '), 100000, 4096);  // cut
  }
}

TEST(LineSplitter, ABorderBehindAnythingIsSeenInAnyPiece) {
  const std::string damaged = lines(R"("ph": "X", "name": "a"b"c")");
  const std::string good = lines(R"("ph": "X", "name": ")" + std::string(100, 'k') + '"');
  for (const std::string& gap : {std::string("null,"), std::string(70, '\xff') + ',', std::string(61, ' ') + "null ,"}) {
    const std::string text = good + gap + damaged + good + good + std::string(200, ' ');
    const Split expected = split(split_lines, text, SplitLevel::scalar, text.size(), 4096);
    EXPECT_EQ(expected.spans.size(), 4U);
    for (const SplitLevel level : levels())
      for (std::size_t piece = 1; piece < 200; ++piece)
        ASSERT_EQ(split(split_lines, text, level, piece, 4096).spans, expected.spans) << gap << piece;
  }
}

TEST(LineSplitter, ADamagedEventWhoseQuotesAndBracesPairOffIsTakenAsItStands) {
  const std::string good = lines(R"("ph": "X", "name": ")" + std::string(200, 'k') + '"');
  const std::string damaged = lines(R"("ph": "X", "name": "a"b"c")");
  const std::string text = good + damaged + good + good + std::string(200, ' ');
  for (const SplitLevel level : levels()) {
    if (level == SplitLevel::scalar) continue;
    const Split found = split(split_lines, text, level, text.size(), 4096);
    EXPECT_EQ(found.stop, SplitStop::end);
    EXPECT_EQ(found.spans.size(), 4U);
  }
}

TEST(LineSplitter, ASecondPhaseIsSeenWhereverItStands) {
  constexpr std::string_view phase = "\"ph\"";
  for (const SplitLevel level : levels())
    for (const std::size_t size : {8, 34, 35, 66, 67, 68, 99, 131, 195, 600}) {
      const std::string none = std::string(size, 'p') + phase[0];  // and a quote that no event ends before
      EXPECT_FALSE(has_second_phase(std::string_view(none).substr(0, size), level));
      for (std::size_t at = 0; at + phase.size() <= size; ++at) {
        std::string text = none;
        text.replace(at, phase.size(), phase);
        ASSERT_FALSE(has_second_phase(std::string_view(text).substr(0, size), level)) << size << ' ' << at;
        for (const std::size_t first : {std::size_t{0}, at / 2, at - std::min(at, phase.size())}) {
          if (first + phase.size() > at) continue;
          std::string both = text;
          both.replace(first, phase.size(), phase);
          ASSERT_TRUE(has_second_phase(std::string_view(both).substr(0, size), level)) << size << ' ' << first << ' ' << at;
          EXPECT_FALSE(has_second_phase(std::string_view(both).substr(0, at + phase.size() - 1), level));
        }
      }
    }
}

}  // namespace
}  // namespace ccl
