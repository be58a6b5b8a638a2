#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "store/json_text.hpp"
#include "store/plain_text.hpp"

namespace ccl {
namespace {

using ::testing::ElementsAre;

TEST(PlainText, InvalidBytesAreReplaced) {
  EXPECT_EQ(valid_utf8("aé€😀"), "aé€😀");
  EXPECT_EQ(valid_utf8("a\xFFz"), "a\xEF\xBF\xBDz");
  EXPECT_EQ(valid_utf8("cut \xE2\x82"), "cut \xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(valid_utf8("\xC0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD") << "not the shortest form";
  EXPECT_EQ(valid_utf8("\xED\xA0\x80").size(), 9U) << "a surrogate";
  std::string cell("x\x80\0", 3);
  make_valid_utf8(cell);
  EXPECT_EQ(cell, std::string("x?\0", 3));
}

TEST(PlainText, NothingReachesTheTerminalAsACommand) {
  EXPECT_EQ(one_line("\x1B[31mred\x1B[0m"), "?[31mred?[0m");
  EXPECT_EQ(one_line("\x1B]0;title\x07"), "?]0;title?");
  EXPECT_EQ(one_line("a\nb\tc\rd"), "a b c d");
  EXPECT_EQ(one_line("\xC2\x9B"
                     "31m"),
            "?31m")
      << "C1 control sequence introducer";
  EXPECT_EQ(one_line("\x9B"
                     "31m"),
            "?31m")
      << "the same as a raw byte";
  EXPECT_EQ(one_line("abc\xE2\x80\xAE"
                     "def"),
            "abc?def")
      << "right-to-left override";
  EXPECT_EQ(one_line("naïve 模型"), "naïve 模型");
}

TEST(PlainText, WidthCountsWhatATerminalShows) {
  EXPECT_EQ(display_width("abc"), 3U);
  EXPECT_EQ(display_width("é…"), 2U);
  EXPECT_EQ(display_width("模型"), 4U);
  EXPECT_EQ(display_width("e\xCC\x81"), 1U);
  EXPECT_EQ(cut_to_width("abcdef", 6), "abcdef");
  EXPECT_EQ(cut_to_width("abcdef", 4), "abc…");
  EXPECT_EQ(cut_to_width("模型模型", 4), "模…");
}

TEST(PlainText, LongLinesBreakAtSpaces) {
  EXPECT_THAT(wrap("one two three four", 10, 2, 9), ElementsAre("one two", "  three", "  four"));
  EXPECT_THAT(wrap("abcdefghijklmno", 6, 1, 9), ElementsAre("abcdef", " ghijk", " lmno"));
  EXPECT_THAT(wrap("one two three four", 10, 2, 2), ElementsAre("one two", "  three f…"));
  EXPECT_THAT(wrap("", 10, 2, 2), ElementsAre(""));
}

TEST(JsonText, IsValidWhateverGoesIn) {
  JsonText json;
  json.open('{').key("a\"\\").text("line\n\x01\xFF").key("n").number(NAN).key("i").number(INFINITY);
  json.key("list").open('[').integer(-1).number(0.1).number(1e300).boolean(true).close(']');
  json.key("empty").open('{').close('}').key("null").null().close('}');
  EXPECT_EQ(json.take(),
            "{\"a\\\"\\\\\": \"line\\u000a\\u0001\xEF\xBF\xBD\", \"n\": null, \"i\": null, "
            "\"list\": [-1, 0.1, 1e+300, true], \"empty\": {}, \"null\": null}");
}

}  // namespace
}  // namespace ccl
