#include "parse/nsys_survey.hpp"

#include <gtest/gtest.h>

namespace ccl {
namespace {

using Places = std::vector<std::pair<std::int32_t, std::int32_t>>;

Places places(const Communicators& all, std::uint64_t communicator) {
  Places found;
  for (const RankPlace& known : all.of({-1, -1}, communicator)) found.emplace_back(known.rank, known.place);
  return found;
}

TEST(Communicators, EveryRankIsAMemberOrIsKnownToBeNone) {
  Communicators all;
  all.add({-1, -1}, {{7, 0, 0}, {7, 2, 1}, {9, 2, 0}});
  all.add({-1, -1}, {{9, 5, 1}});
  EXPECT_EQ(places(all, 7), (Places{{0, 0}, {2, 1}, {5, -1}}));
  EXPECT_EQ(places(all, 9), (Places{{0, -1}, {2, 0}, {5, 1}}));
  EXPECT_EQ(places(all, 8), Places{});
  EXPECT_TRUE(all.of({3, -1}, 7).empty()) << "another iteration";
}

TEST(Communicators, ARankThatSitsInTwoPlacesIsNotBelieved) {
  Communicators all;
  all.add({-1, -1}, {{7, 0, 0}, {7, 1, 1}});
  all.add({-1, -1}, {{7, 1, 0}});
  EXPECT_EQ(places(all, 7), (Places{{0, 0}, {1, -1}}));
}

TEST(Communicators, SessionsOfOneHostCountFromItsClock) {
  Communicators all;
  constexpr std::int64_t day = 1'700'000'000'000'000'000, boot = 5'000'000'000;
  all.align({{"a", {"node0", day, boot}},
             {"b", {"node0", day + 2'000'300, boot + 2'000'000}},      // NTP moved the wall clock by 300 ns
             {"c", {"node1", day + 2'000'300, boot + 2'000'000}},      // alone on its host
             {"d", {"node0", day + 90'000'000'000, boot + 100}},       // after another boot
             {"e", {"node0", day + 1, -1}},                            // an older export
             {"f", {"", day + 7, boot + 9}}});
  EXPECT_EQ(all.epochs, (std::map<std::string, std::int64_t>{{"b", day + 2'000'000}}));
}

}  // namespace
}  // namespace ccl
