#include "config/values.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ccl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <class Call>
std::string refusal(Call call) {
  try {
    call();
  } catch (const FatalError& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::bad_request);
    return error.what();
  }
  return "accepted";
}

TEST(ConfigValues, IntegersAreWholeAndInRange) {
  EXPECT_EQ(to_integer("--step", "9", 0, 10), 9);
  EXPECT_EQ(to_integer("--iteration", "-1", -1, 10), -1);
  EXPECT_EQ(refusal([] { to_integer("--step", "9x", 0, 10); }), "--step '9x' (not a whole number)");
  EXPECT_EQ(refusal([] { to_integer("--step", "", 0, 10); }), "--step '' (not a whole number)");
  EXPECT_EQ(refusal([] { to_integer("--step", "11", 0, 10); }), "--step 11 (must be from 0 to 10)");
  EXPECT_THAT(refusal([] { to_integer("--step", "99999999999999999999", 0, 10); }), HasSubstr("not a whole number"));
}

TEST(ConfigValues, TimesHaveUnitsOrColons) {
  EXPECT_EQ(to_seconds("t", "90"), 90);
  EXPECT_EQ(to_seconds("t", "90s"), 90);
  EXPECT_EQ(to_seconds("t", "10m"), 600);
  EXPECT_EQ(to_seconds("t", "1.5h"), 5400);
  EXPECT_EQ(to_seconds("t", "00:10:05"), 605);
  EXPECT_EQ(to_seconds("t", "10:05"), 605);
  for (const char* bad : {"", "0", "-5", "10x", "1:2:3:4", "m", "1:", "nan", "inf", "1::2", "5:-10", "-1:10"})
    EXPECT_THAT(refusal([&] { to_seconds("--time-limit", bad); }), HasSubstr("not a time")) << bad;
}

TEST(ConfigValues, MistypedChoiceGetsASuggestion) {
  EXPECT_EQ(to_choice("--rank-from", "name", {"content", "name"}), "name");
  EXPECT_EQ(refusal([] { to_choice("--rank-from", "nam", {"content", "name"}); }),
            "--rank-from 'nam' (must be one of content, name). Did you mean 'name'?");
  EXPECT_EQ(refusal([] { to_choice("--rank-from", "zzzzzzzzzz", {"content", "name"}); }),
            "--rank-from 'zzzzzzzzzz' (must be one of content, name)");
}

TEST(ConfigValues, RankRegexNeedsACaptureGroup) {
  EXPECT_EQ(to_capturing_regex("--rank-regex", R"(r(\d+))"), R"(r(\d+))");
  EXPECT_THAT(refusal([] { to_capturing_regex("--rank-regex", "r[0-9]+"); }), HasSubstr("no capture group"));
  EXPECT_THAT(refusal([] { to_capturing_regex("--rank-regex", "r(["); }), HasSubstr("not a regular expression"));
}

TEST(ConfigValues, CommasSeparateAndEmptyPartsAreDropped) {
  EXPECT_THAT(split_commas({"1,2", "3", ",4,"}), ElementsAre("1", "2", "3", "4"));
  EXPECT_TRUE(split_commas({""}).empty());
}

TEST(ConfigValues, TruthIsSpelledAsInYaml) {
  EXPECT_TRUE(to_bool("strict", "true"));
  EXPECT_FALSE(to_bool("strict", "off"));
  EXPECT_EQ(refusal([] { to_bool("strict", "maybe"); }), "strict 'maybe' (must be true or false)");
}

TEST(ConfigValues, PositiveNumbersInAnyNotation) {
  EXPECT_DOUBLE_EQ(to_positive_number("--peak x", "312e12"), 312e12);
  EXPECT_EQ(number_text(312e12), "3.12e+14");
  for (const char* text : {"", "0", "-1", "1e999", "12GB", "nan"})
    EXPECT_THROW(to_positive_number("--peak x", text), FatalError) << text;
}

}  // namespace
}  // namespace ccl
