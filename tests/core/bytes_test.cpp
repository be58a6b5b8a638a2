#include "core/bytes.hpp"

#include <gtest/gtest.h>

namespace ccl {
namespace {

TEST(Bytes, WhatIsWrittenIsRead) {
  ByteWriter out;
  out.value<std::int32_t>(-7);
  out.text("");
  out.text(std::string_view("a\0b", 3));
  out.array(std::vector<std::int64_t>{1, 2, 3});
  out.array(std::vector<double>());
  out.value(true);
  const Bytes bytes = out.take();
  ByteReader in(bytes);
  EXPECT_EQ(in.value<std::int32_t>(), -7);
  EXPECT_EQ(in.text(), "");
  EXPECT_EQ(in.text(), std::string("a\0b", 3));
  EXPECT_EQ(in.array<std::int64_t>(), (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_TRUE(in.array<double>().empty());
  EXPECT_TRUE(in.value<bool>());
  EXPECT_TRUE(in.at_end());
}

TEST(Bytes, ReadingPastTheEndThrows) {
  ByteWriter out;
  out.value<std::int16_t>(1);
  const Bytes bytes = out.take();
  ByteReader in(bytes);
  EXPECT_THROW(in.value<std::int64_t>(), std::logic_error);
}

}  // namespace
}  // namespace ccl
