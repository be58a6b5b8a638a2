#include "core/cpu_slices.hpp"

#include <gtest/gtest.h>

#include <tuple>
#include <vector>

namespace ccl {
namespace {

constexpr std::int64_t epoch_ns = 1'700'000'000'000'000'000, hour_ns = 3'600'000'000'000;

auto all_of(const CpuSlice& slice) {
  return std::tuple(slice.thread, slice.start_ns, slice.end_ns, slice.name, slice.kind, slice.numbered);
}

std::vector<CpuSlice> listed(const CpuSlices& slices) { return {slices.begin(), slices.end()}; }

void expect_equal(const CpuSlices& slices, const std::vector<CpuSlice>& expected) {
  const std::vector<CpuSlice> found = listed(slices);
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(all_of(found[i]), all_of(expected[i])) << i;
    EXPECT_EQ(all_of(slices[i]), all_of(expected[i])) << i;
  }
}

/// Some that fit and one of each kind that does not.
std::vector<CpuSlice> any_slices() {
  return {{epoch_ns, epoch_ns + 10, 3, 2, SliceKind::cpu_op, true},
          {epoch_ns - hour_ns, epoch_ns - hour_ns, 0, 0, SliceKind::user_annotation, false},
          {epoch_ns + 5, epoch_ns + 5 + UINT32_MAX, 4, UINT16_MAX, SliceKind::other, false},
          {epoch_ns + 5, epoch_ns + 6 + UINT32_MAX, 4, 1, SliceKind::python_function, false},  // too long
          {epoch_ns + 40 * hour_ns, epoch_ns + 40 * hour_ns + 1, 5, 1, SliceKind::runtime, false},
          {epoch_ns - 40 * hour_ns, epoch_ns - 40 * hour_ns + 1, 5, 1, SliceKind::runtime, true},
          {0, INT64_MAX, 5, 1, SliceKind::cpu_op, true},
          {INT64_MIN, 0, 5, 1, SliceKind::cpu_op, false},
          {epoch_ns + 9, epoch_ns + 3, 6, 1, SliceKind::cpu_op, false},                // ends before it starts
          {epoch_ns + 9, epoch_ns + 12, 1U << 27, 1, SliceKind::cpu_op, true},         // names
          {epoch_ns + 9, epoch_ns + 12, (1U << 27) - 1, 1, SliceKind::cpu_op, true},
          {epoch_ns + 9, epoch_ns + 12, 7, UINT16_MAX + 1U, SliceKind::cpu_op, true},  // threads
          {epoch_ns + 1, epoch_ns + 20, 3, 2, SliceKind::cpu_op, true}};
}

TEST(CpuSlices, AreReadAsTheyWereWrittenWhetherTheyFitOrNot) {
  CpuSlices slices;
  for (const CpuSlice& slice : any_slices()) slices.push_back(slice);
  expect_equal(slices, any_slices());
  slices.clear();
  EXPECT_TRUE(slices.empty());
  const CpuSlice early{7, 9, 1, 1, SliceKind::other, false};  // of another clock than before
  slices.push_back(early);
  expect_equal(slices, {early});
}

TEST(CpuSlices, TakeSixteenBytesEach) {
  CpuSlices slices;
  constexpr int count = 1 << 20;
  for (int i = 0; i < count; ++i) slices.push_back({epoch_ns + i * 1000, epoch_ns + i * 1000 + 700, 5, 1, SliceKind::cpu_op, true});
  EXPECT_LE(slices.capacity_bytes(), std::size_t{16} * count + (std::size_t{5} << 20));
}

TEST(CpuSlices, MoveInTime) {
  CpuSlices slices;
  std::vector<CpuSlice> expected{{100, 200, 1, 1, SliceKind::cpu_op, true}, {150, 150 + 2 * hour_ns, 2, 1, SliceKind::cpu_op, true}};
  for (const CpuSlice& slice : expected) slices.push_back(slice);
  slices.shift(epoch_ns);
  for (CpuSlice& slice : expected) slice.start_ns += epoch_ns, slice.end_ns += epoch_ns;
  expect_equal(slices, expected);
}

TEST(CpuSlices, SortParentsFirstAndEqualOnesAsTheyCame) {
  CpuSlices slices;
  const std::vector<CpuSlice> sorted{{30, 40, 0, 0, SliceKind::cpu_op, false},
                                     {0, 20 * hour_ns, 1, 1, SliceKind::other, false},  // does not fit
                                     {10, 50, 9, 1, SliceKind::cpu_op, false},
                                     {10, 50, 2, 1, SliceKind::cpu_op, false},
                                     {10, 20, 4, 1, SliceKind::cpu_op, false},
                                     {5, 6, 5, 70'000, SliceKind::cpu_op, false}};
  for (const std::size_t i : {2U, 4U, 5U, 3U, 1U, 0U}) slices.push_back(sorted[i]);
  slices.sort();
  expect_equal(slices, sorted);
}

TEST(CpuSlices, TravelPacked) {
  CpuSlices slices;
  for (const CpuSlice& slice : any_slices()) slices.push_back(slice);
  ByteWriter out;
  slices.pack(out);
  const Bytes bytes = out.take();
  ByteReader in(bytes);
  expect_equal(CpuSlices::unpack(in), any_slices());
  EXPECT_TRUE(in.at_end());
}

}  // namespace
}  // namespace ccl
