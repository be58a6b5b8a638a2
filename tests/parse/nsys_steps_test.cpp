#include "parse/nsys_steps.hpp"

#include <gtest/gtest.h>

namespace ccl {
namespace {

void expect_parts(std::string_view text, std::string_view name, std::string_view numbered, std::int32_t sequence) {
  const RangeText parts = parts_of_range_text(text);
  EXPECT_EQ(parts.name, name) << text;
  EXPECT_EQ(parts.numbered, numbered) << text;
  EXPECT_EQ(parts.sequence, sequence) << text;
}

TEST(NsysSteps, NumbersOfEmitNvtxComeBehindTheName) {
  expect_parts("aten::view, op_id = 314290", "aten::view", ", op_id = 0", -1);
  expect_parts("aten::add, seq = 45329, op_id = 990727", "aten::add", ", seq = 0", 45329);
  expect_parts("MmBackward0, seq = 0", "MmBackward0", ", seq = 0", 0);
  expect_parts("aten::mm, op_id = 3, sizes = [[4, 8], [8, 2]], seq = 5", "aten::mm", ", seq = 0", 5);
  expect_parts("f<a, b>, seq = 7", "f<a, b>", ", seq = 0", 7);
}

TEST(NsysSteps, OtherTextsAreNamesAsTheyStand) {
  for (const char* text : {"", "ncclAllReduce", "a, b", "x, seq=7", ",", "iteration 9"}) expect_parts(text, text, "", -1);
}

TEST(NsysSteps, WhatIsNoNumberIsNoSequence) {
  expect_parts("a, seq = b", "a", ", op_id = 0", -1);
  expect_parts("a, seq = 99999999999", "a", ", op_id = 0", -1);
  expect_parts(", seq = 4", "", ", seq = 0", 4);
}

}  // namespace
}  // namespace ccl
