#include "parse/decimal.hpp"

#include <gtest/gtest.h>

#include <string>

namespace ccl {
namespace {

std::int64_t ns(std::string_view us) {
  const Decimal d = parse_us_as_ns(us);
  EXPECT_EQ(d.status, DecimalStatus::ok) << us;
  return d.value;
}

TEST(Decimal, MicrosecondsBecomeExactNanoseconds) {
  EXPECT_EQ(ns("0"), 0);
  EXPECT_EQ(ns("5"), 5000);
  EXPECT_EQ(ns("10.1"), 10100);
  EXPECT_EQ(ns("10.100"), 10100);
  EXPECT_EQ(ns("0.850"), 850);
  EXPECT_EQ(ns("-1.5"), -1500);
  EXPECT_EQ(ns("+2"), 2000);
  EXPECT_EQ(ns("007.001"), 7001);
  EXPECT_EQ(ns(".5"), 500);
}

TEST(Decimal, EpochMicrosecondsKeepTheirLastDigit) {
  EXPECT_EQ(ns("1715596800123456.789"), 1715596800123456789);
  EXPECT_EQ(ns("1661938466265032"), 1661938466265032000);
}

TEST(Decimal, MoreThanThreeDecimalsRoundHalfToEven) {
  EXPECT_EQ(ns("0.0005"), 0);
  EXPECT_EQ(ns("0.0015"), 2);
  EXPECT_EQ(ns("0.0025"), 2);
  EXPECT_EQ(ns("0.00250000000000000000001"), 3);
  EXPECT_EQ(ns("0.0024999"), 2);
  EXPECT_EQ(ns("1234567.8905"), 1234567890);
  EXPECT_EQ(ns("1234567.8915"), 1234567892);
  EXPECT_EQ(ns("-0.0015"), -2);
  EXPECT_EQ(ns("0.00004"), 0);
}

TEST(Decimal, ExponentsMoveThePoint) {
  EXPECT_EQ(ns("1.5e6"), 1500000000);
  EXPECT_EQ(ns("1500000.0"), 1500000000);
  EXPECT_EQ(ns("15E+5"), 1500000000);
  EXPECT_EQ(ns("25e-4"), 2);
  EXPECT_EQ(ns("1e-300"), 0);
  EXPECT_EQ(ns("0e999999999999"), 0);
}

TEST(Decimal, WhatDoesNotFitIsOutOfRange) {
  EXPECT_EQ(parse_us_as_ns("9223372036854775.808").status, DecimalStatus::out_of_range);
  EXPECT_EQ(ns("9223372036854775.807"), INT64_MAX);
  EXPECT_EQ(parse_us_as_ns("1e300").status, DecimalStatus::out_of_range);
  EXPECT_EQ(parse_us_as_ns("340282366920938463463374607431768211455").status, DecimalStatus::out_of_range);
}

TEST(Decimal, WhatIsNoNumberIsAbsent) {
  for (const std::string_view text : {"", "inf", "-inf", "NaN", "null", "1.2.3", "12a", "-", ".", "1e", "1 2"})
    EXPECT_EQ(parse_us_as_ns(text).status, DecimalStatus::absent) << text;
}

TEST(Decimal, IntegersFallBackWhenTheyDoNotFit) {
  EXPECT_EQ(parse_integer("31348", -1), 31348);
  EXPECT_EQ(parse_integer("7.0", -1), 7);
  EXPECT_EQ(parse_integer("18446744073709551615", -1), -1);
  EXPECT_EQ(parse_integer("-9223372036854775809", -7), -7);
  EXPECT_EQ(parse_integer("", 3), 3);
}

}  // namespace
}  // namespace ccl
