#include "parse/packed_numbers.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace ccl::test {
namespace {

TEST(PackedNumbers, ComeBackAsTheyWere) {
  for (const std::uint64_t largest : {std::uint64_t{0}, std::uint64_t{255}, std::uint64_t{256}, std::uint64_t{65536},
                                      std::uint64_t{1} << 32, std::numeric_limits<std::uint64_t>::max()}) {
    const std::vector<std::uint64_t> numbers{largest, 0, 7, largest};
    ByteWriter out;
    pack_numbers(numbers.size(), [&](std::size_t i) { return numbers[i]; }, out);
    const Bytes bytes = out.take();
    ByteReader in(bytes);
    std::vector<std::uint64_t> back;
    unpack_numbers(in, [&](std::size_t, std::uint64_t number) { back.push_back(number); });
    EXPECT_EQ(back, numbers);
  }
}

TEST(PackedNumbers, DifferencesComeBackAsTheyWere) {
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min(), most = std::numeric_limits<std::int64_t>::max();
  for (const std::vector<std::int64_t>& numbers :
       {std::vector<std::int64_t>{}, {5}, {1'000'000'000'000, 1'000'000'000'003, 999'999'999'999}, {least, most, least, 0, -1}}) {
    ByteWriter out;
    pack_differences(numbers.size(), [&](std::size_t i) { return numbers[i]; }, out);
    const Bytes bytes = out.take();
    ByteReader in(bytes);
    std::vector<std::int64_t> back;
    unpack_differences(in, [&](std::size_t, std::int64_t number) { back.push_back(number); });
    EXPECT_EQ(back, numbers);
  }
}

TEST(PackedNumbers, SmallDifferencesTakeOneByteEach) {
  ByteWriter small, large;
  pack_differences(1000, [](std::size_t i) { return (std::int64_t{1} << 60) + static_cast<std::int64_t>(i) * 100; }, small);
  pack_differences(0, [](std::size_t) { return std::int64_t{0}; }, large);
  EXPECT_EQ(small.take().size(), large.take().size() + 1000);
}

}  // namespace
}  // namespace ccl::test
