#include "parse/json_text.hpp"

#include <gtest/gtest.h>

namespace ccl {
namespace {

TEST(JsonText, WalkGivesMembersInOrder) {
  const std::string_view text = R"({ "a" : 1 , "b":"x\"y","c":[1,{"d":2}],"e":{"f":[]} , "g":null })";
  std::string seen;
  JsonWalk walk(text);
  while (walk.next()) seen += std::string(walk.key()) + "=" + std::string(walk.value().text) + ";";
  EXPECT_EQ(seen, R"(a=1;b=x\"y;c=[1,{"d":2}];e={"f":[]};g=null;)");
  EXPECT_FALSE(walk.damaged());
}

TEST(JsonText, ArraysHaveElementsWithoutKeys) {
  JsonWalk walk(R"(["a", 2, [3], ])");
  std::size_t count = 0;
  while (walk.next()) ++count;
  EXPECT_EQ(count, 3U);
  EXPECT_FALSE(walk.damaged());
}

TEST(JsonText, BareInfAndNanAreScalars) {
  EXPECT_EQ(json_member(R"({"x": inf, "y": -Infinity, "z": 1})", "z").text, "1");
  EXPECT_EQ(json_member(R"({"x": NaN})", "x").text, "NaN");
}

TEST(JsonText, DamageIsToldFromTheEnd) {
  for (const std::string_view text : {R"({"a" 1})", R"({"a":})", R"({"a":1 "b":2})", R"({"a":1)", R"({"a":"x)", R"({a:1})",
                                      R"({"a":"x" y})", "", "7"}) {
    JsonWalk walk(text);
    while (walk.next()) {
    }
    EXPECT_TRUE(walk.damaged()) << text;
  }
}

TEST(JsonText, NullIsNotPresent) {
  EXPECT_FALSE(json_member(R"({"a": null})", "a").present());
  EXPECT_FALSE(json_member(R"({"a": 1})", "b").present());
  EXPECT_TRUE(json_member(R"({"a": ""})", "a").present());
}

TEST(JsonText, LongStringsWithEscapesEndAtTheirQuote) {
  for (std::size_t before = 0; before < 40; ++before)
    for (std::size_t backslashes = 0; backslashes < 5; ++backslashes) {
      const std::string text = std::string(before, 'n') + std::string(backslashes, '\\') + "\"tail of more than sixteen bytes\"";
      const char* const end = string_end(text.data(), text.data() + text.size());
      const std::size_t expected = backslashes % 2 == 0 ? before + backslashes : text.size() - 1;
      EXPECT_EQ(static_cast<std::size_t>(end - text.data()), expected) << before << ' ' << backslashes;
    }
}

TEST(JsonText, CleaningResolvesEscapes) {
  EXPECT_EQ(clean_text(R"(a\"b\\c\/d)"), "a\"b\\c/d");
  EXPECT_EQ(clean_text("\\u00e9\\u20AC\\ud83d\\ude00"), "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
  EXPECT_EQ(clean_text(R"(tab\tend)"), "tab end");
}

TEST(JsonText, CleaningKeepsIllegalEscapes) {
  EXPECT_EQ(clean_text(R"(C:\Users\_x\cuda)"), R"(C:\Users\_x\cuda)");
  EXPECT_EQ(clean_text("\\u12"), "\\u12");
  EXPECT_EQ(clean_text("end\\"), "end\\");
}

TEST(JsonText, CleaningReplacesWhatIsNotUtf8) {
  EXPECT_EQ(clean_text("a\x01" "b"), "a b");
  EXPECT_EQ(clean_text("\xE9\xFF"), "\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(clean_text("\xEF\xBF;"), "\xEF\xBF\xBD\xEF\xBF\xBD;");
  EXPECT_EQ(clean_text("\xC0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(clean_text("\\ud800"), "\xEF\xBF\xBD");
  EXPECT_EQ(clean_text("\xC3\xA9"), "\xC3\xA9");
}

TEST(JsonText, CaseIsIgnoredWhereAsked) {
  EXPECT_TRUE(equals_ignoring_case("Kernel", "kernel"));
  EXPECT_FALSE(equals_ignoring_case("Kernels", "kernel"));
}

}  // namespace
}  // namespace ccl
