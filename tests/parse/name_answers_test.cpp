#include "parse/name_answers.hpp"

#include <gtest/gtest.h>

namespace ccl {
namespace {

TEST(NameAnswers, ANameIsAskedForOnce) {
  const NameAnswers<std::size_t> answers;
  int asked = 0;
  const auto size = [&](std::string_view name) { return ++asked, name.size(); };
  for (int trace = 0; trace < 3; ++trace) {
    EXPECT_EQ(answers.get("gemm", size), 4u);
    EXPECT_EQ(answers.get("", size), 0u);
  }
  EXPECT_EQ(asked, 2);
}

TEST(NameAnswers, NamesOfTheirOwnNumberFillNoMemoryAndStayRight) {
  const NameAnswers<int> answers;
  int asked = 0;
  const auto number = [&](std::string_view name) { return ++asked, std::stoi(std::string(name.substr(5))); };
  for (int i = 0; i < 50000; ++i) ASSERT_EQ(answers.get("step_" + std::to_string(i), number), i);
  EXPECT_EQ(answers.get("step_49999", number), 49999);
  EXPECT_EQ(asked, 50000);
  EXPECT_EQ(answers.get("step_0", number), 0);
  EXPECT_EQ(asked, 50001);  // dropped meanwhile
}

TEST(NameAnswers, LongNamesAreAskedForEveryTime) {
  const NameAnswers<std::size_t> answers;
  const std::string name(3000, 'x');
  int asked = 0;
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(answers.get(name, [&](std::string_view text) { return ++asked, text.size(); }), 3000u);
  EXPECT_EQ(asked, 2);
}

}  // namespace
}  // namespace ccl
