#include "parse/part_threads.hpp"

#include <gtest/gtest.h>

#include <new>
#include <set>

namespace ccl {
namespace {

OwnedPart part_of(std::int64_t text_bytes, bool is_last = false) {
  auto part = std::make_unique<KinetoPart>();
  part->scan.text_bytes = text_bytes;
  part->is_last = is_last;
  return part;
}

/// Part 2 is read elsewhere.
class Elsewhere final : public PartTaker {
 public:
  int back_count = 0;
  OwnedPart take(int reader) override { return part_of(reader); }
  void give_back(int, OwnedPart) override { ++back_count; }
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
    options.lent = {{1}, {own_processors()}};
  }
};

TEST(PartThreads, PartsComeInOrderTheirMemoryGoesBackAndProgressIsHeard) {
  ThreeParts test;
  std::set<const KinetoPart*> used;
  PartThreads parts(test.options, test.elsewhere, test.heard,
                    [&](const ReadOptions& options, PartGiver& giver, Progress& progress) {
                      EXPECT_EQ(options.part.number, 1);
                      OwnedPart part = part_of(0);
                      for (int i = 1; i <= 200; ++i) {
                        used.insert(part.get());
                        progress.add_bytes(10);
                        part->scan.text_bytes = 1000 * i;
                        part->is_last = i == 200;
                        part = giver.give(std::move(part));
                      }
                      EXPECT_EQ(part, nullptr);
                    });
  for (int i = 1; i <= 200; ++i) {
    OwnedPart part = parts.take(1);
    EXPECT_EQ(part->scan.text_bytes, 1000 * i);
    parts.give_back(1, std::move(part));
  }
  parts.give_back(2, parts.take(2));
  EXPECT_EQ(test.elsewhere.back_count, 1);
  parts.finish();
  EXPECT_EQ(test.heard.bytes, 2000);
  EXPECT_LE(used.size(), 8U);
}

TEST(PartThreads, WhatAThreadThrowsIsThrownInTheEndAndNobodyWaits) {
  ThreeParts test;
  PartThreads parts(test.options, test.elsewhere, test.heard, [](const ReadOptions&, PartGiver& giver, Progress&) {
    giver.give(part_of(1));
    throw std::bad_alloc();
  });
  EXPECT_EQ(parts.take(1)->scan.text_bytes, 1);
  EXPECT_EQ(parts.take(1), nullptr);
  EXPECT_EQ(parts.take(1), nullptr);
  EXPECT_THROW(parts.finish(), std::bad_alloc);
}

TEST(PartThreads, WhoGoesEarlyWaitsForNobodyWhoGives) {
  const auto give_ten = [](const ReadOptions&, PartGiver& giver, Progress& progress) {
    for (int i = 0; i < 10; ++i) EXPECT_NE(giver.give(part_of(i)), nullptr);
    EXPECT_TRUE(progress.stop_requested());
  };
  ThreeParts test;
  { const PartThreads gone(test.options, test.elsewhere, test.heard, give_ten); }
  PartThreads finished(test.options, test.elsewhere, test.heard, give_ten);
  finished.finish();
}

}  // namespace
}  // namespace ccl
