#include "parse/part_threads.hpp"

#include <gtest/gtest.h>

#include <new>

namespace ccl {
namespace {

/// Part 2 is read elsewhere.
class Elsewhere final : public PartExchange {
 public:
  void give(Bytes) override {}
  Bytes take(int number) override { return Bytes(static_cast<std::size_t>(number)); }
};

struct Heard final : Progress {
  std::int64_t bytes = 0;
  void add_bytes(std::int64_t more) override { bytes += more; }
};

struct ThreeParts {
  Elsewhere elsewhere;
  Heard heard;
  ReadOptions options;
  ThreeParts() {
    options.part = {0, 3};
    options.parts = &elsewhere;
    options.lent = {{1}, {own_processors()}};
  }
};

TEST(PartThreads, ParcelsComeInOrderAndProgressIsHeard) {
  ThreeParts test;
  PartThreads parts(test.options, test.heard, [](const ReadOptions& options, Progress& progress) {
    EXPECT_EQ(options.part.number, 1);
    for (std::size_t i = 1; i <= 200; ++i) {  // 20 MB: more than may wait
      progress.add_bytes(10);
      options.parts->give(Bytes(1000 * i));
    }
  });
  for (std::size_t i = 1; i <= 200; ++i) EXPECT_EQ(parts.take(1).size(), 1000 * i);
  EXPECT_EQ(parts.take(2).size(), 2U);
  parts.finish();
  EXPECT_EQ(test.heard.bytes, 2000);
}

TEST(PartThreads, WhatAThreadThrowsIsThrownInTheEndAndNobodyWaits) {
  ThreeParts test;
  PartThreads parts(test.options, test.heard, [](const ReadOptions& options, Progress&) {
    options.parts->give(Bytes(1));
    throw std::bad_alloc();
  });
  EXPECT_EQ(parts.take(1).size(), 1U);
  EXPECT_TRUE(parts.take(1).empty());
  EXPECT_TRUE(parts.take(1).empty());
  EXPECT_THROW(parts.finish(), std::bad_alloc);
}

TEST(PartThreads, WhoGoesEarlyWaitsForNobodyWhoGives) {
  ThreeParts test;
  PartThreads(test.options, test.heard, [](const ReadOptions& options, Progress&) {
    for (int i = 0; i < 10; ++i) options.parts->give(Bytes(std::size_t{1} << 20));
  });
}

}  // namespace
}  // namespace ccl
