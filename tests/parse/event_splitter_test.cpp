#include "parse/event_splitter.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "support/split_pieces.hpp"

namespace ccl {
namespace {

using test::levels;
using test::Split;

Split split(const std::string& text, SplitLevel level, std::size_t piece, std::size_t capacity = 64) {
  return test::split(split_events, text, level, piece, capacity);
}

TEST(EventSplitter, FindsObjectsAndNothingInside) {
  const std::string text = R"({"a":{"b":[{}]}}, {"c":"}{"},{"d":"\"}"} , {})";
  for (const SplitLevel level : levels()) {
    const Split s = split(text, level, text.size());
    ASSERT_EQ(s.spans.size(), 4U);
    EXPECT_EQ(text.substr(s.spans[1].first, s.spans[1].second - s.spans[1].first), R"({"c":"}{"})");
    EXPECT_EQ(text.substr(s.spans[2].first, s.spans[2].second - s.spans[2].first), R"({"d":"\"}"})");
    EXPECT_EQ(s.stop, SplitStop::end);
  }
}

TEST(EventSplitter, StopsAtAQuoteThatCanNotBe) {
  for (const SplitLevel level : levels())
    for (std::size_t before = 0; before < 130; before += 13) {
      const std::string good = "{\"name\":\"" + std::string(before, 'x') + "\"},";
      const Split s = split(good + R"({"name":"a"b"},{"name":"c"})" + std::string(200, ' '), level, 1000);
      EXPECT_EQ(s.stop, SplitStop::stray);
      EXPECT_EQ(s.spans.size(), 1U);
      EXPECT_EQ(s.position, good.size() + 11);
    }
}

TEST(EventSplitter, StopsWhereTheListIsClosed) {
  for (const SplitLevel level : levels()) {
    const Split s = split(R"({"a":1}], "n": 2} {"b":3})" + std::string(100, ' '), level, 1000);
    EXPECT_EQ(s.stop, SplitStop::closed);
    EXPECT_EQ(s.spans.size(), 1U);
  }
}

TEST(EventSplitter, ReportsWhenThereIsNoRoom) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "{},";
  for (const SplitLevel level : levels()) EXPECT_EQ(split(text, level, text.size()).spans.size(), 1000U);
}

// Texts of the characters that matter, in windows of any size: all levels must agree with the byte-by-byte one.
TEST(EventSplitter, AllLevelsAgreeOnRandomText) {
  std::mt19937_64 random(7);
  const std::string letters = "{}[]\",:\\ \nabz0\x01\xE9";
  const std::vector<std::string> good{"{\"a\":\"b\\\\\"}", ",\n ", "{\"k\": {\"x\": [1, {}]}}", "{\"s\":\"\\\"}{\"}", "\"q\"", "{", "}"};
  for (int round = 0; round < 4000; ++round) {
    std::string text;
    while (text.size() < 400) {
      if (random() % 16 == 0)
        text += letters[random() % letters.size()];
      else
        text += good[random() % (round % 2 == 0 ? 4 : good.size())];
    }
    const std::size_t piece = 1 + random() % 300;
    const Split expected = split(text, SplitLevel::scalar, text.size());
    for (const SplitLevel level : levels()) ASSERT_EQ(split(text, level, piece), expected) << round << '\n' << text;
  }
}

TEST(EventSplitter, AllLevelsAgreeOnRandomBytes) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 2000; ++round) {
    std::string text(500, '\0');
    for (char& c : text) c = static_cast<char>(random());
    const Split expected = split(text, SplitLevel::scalar, text.size());
    for (const SplitLevel level : levels()) ASSERT_EQ(split(text, level, 1 + random() % 300), expected) << round;
  }
}

}  // namespace
}  // namespace ccl
