#include <gtest/gtest.h>

#include "exchange/match_parts.hpp"
#include "exchange/planted_world.hpp"

namespace ccl {
namespace {

using test::PlantedWorld;
using test::ranks_up_to;

/// A pipeline whose messages name nobody. Ranks live on hosts of their own with clocks far apart.
class Peers : public testing::Test {
 protected:
  static constexpr std::int64_t us = 1000;
  explicit Peers(std::int32_t stages = 4) : world_(ranks_up_to(stages)), pp_(world_.add_group("pp", ranks_up_to(stages))) {
    for (std::size_t h = 0; h < world_.host_offset_ns.size(); ++h)
      world_.host_offset_ns[h] = 7'000'000'000 * static_cast<std::int64_t>(h);
  }

  void message(std::int32_t from, std::int32_t to, std::int64_t end_ns, std::uint16_t send_lane = 0,
               std::uint16_t recv_lane = 0) {
    world_.add(pp_, from, end_ns - 30 * us, end_ns, CollectiveOp::send, 64).lane = send_lane;
    world_.add(pp_, to, end_ns - 90 * us, end_ns + 2 * us, CollectiveOp::recv, 64).lane = recv_lane;
    planted_[std::minmax(from, to)].push_back(end_ns + 2 * us);
  }
  /// Activations up and gradients down; times differ from message to message.
  void one_step(std::int32_t stages, std::int32_t count, bool own_streams) {
    for (std::int32_t k = 0; k < count; ++k)
      for (std::int32_t s = 0; s + 1 < stages; ++s) {
        const std::int64_t up_ns = (1000 + 700 * k + 310 * s + 13 * k * k) * us;
        const std::int64_t down_ns = (9000 + 1300 * k - 450 * s + 17 * k * k) * us;
        message(s, s + 1, up_ns, own_streams ? 1 : 0, own_streams ? 2 : 0);
        message(s + 1, s, down_ns, own_streams ? 3 : 0, own_streams ? 4 : 0);
      }
  }
  void expect_all_found() {
    Problems problems;
    const MatchedCollectives matched = world_.assemble_alone(problems);
    EXPECT_EQ(problems.count(Code::collective_unmatched), 0);
    EXPECT_EQ(matched.instances.size() * 2, world_.records.size());
    for (const MatchedInstance& i : matched.instances) {
      const MatchedMember& sender = matched.members[i.first_member];
      const MatchedMember& receiver = matched.members[i.first_member + 1];
      const auto& ends_ns = planted_[std::minmax(sender.rank.value, receiver.rank.value)];
      const std::int64_t end_ns = receiver.start_ns + receiver.dur_ns - 7'000'000'000 * receiver.rank.value;
      EXPECT_EQ(std::count(ends_ns.begin(), ends_ns.end(), end_ns), 1);
      EXPECT_EQ(sender.start_ns + sender.dur_ns - 7'000'000'000 * sender.rank.value + 2 * us, end_ns);
    }
  }

  PlantedWorld world_;
  GroupId pp_;
  std::map<std::pair<std::int32_t, std::int32_t>, std::vector<std::int64_t>> planted_;
};

TEST_F(Peers, StreamsThatServeOneNeighbourEachAreToldApartByTheirEnds) {
  one_step(4, 5, true);
  expect_all_found();
}

TEST_F(Peers, OneStreamForAllIsSplitFromTheFirstStageOn) {
  one_step(4, 5, false);
  expect_all_found();
}

TEST_F(Peers, OfSingleMessagesActivationsComeFirst) {
  one_step(4, 1, true);
  expect_all_found();
}

TEST_F(Peers, AnInterleavedScheduleGoesRound) {
  one_step(4, 4, true);
  for (std::int32_t k = 0; k < 4; ++k) {  // to the next chunk of the first stage, and back
    message(3, 0, (4100 + 630 * k + 11 * k * k) * us, 1, 2);
    message(0, 3, (20'300 + 1210 * k + 19 * k * k) * us, 3, 4);
  }
  expect_all_found();
}

TEST_F(Peers, APlaceInTheGroupIsEnough) {
  for (const auto& [from, to] : {std::pair(0, 2), std::pair(3, 1)}) {
    message(from, to, 1000 * us);
    world_.records[world_.records.size() - 2].peer = peer_at_place(to);
    world_.records.back().peer = peer_at_place(from);
  }
  expect_all_found();
}

TEST_F(Peers, MessagesThatFitNobodyStayUnknown) {
  for (std::int32_t k = 0; k < 3; ++k) {
    world_.add(pp_, 0, 0, (1000 + 700 * k * k) * us, CollectiveOp::send, 64);
    world_.add(pp_, 1, 0, (9000 + 200 * k) * us, CollectiveOp::recv, 64);
  }
  Problems problems;
  EXPECT_TRUE(world_.assemble_alone(problems).instances.empty());
  EXPECT_EQ(problems.count(Code::collective_unmatched), 6);
}

TEST_F(Peers, APlaceOutsideTheGroupIsNobody) {
  world_.add(pp_, 0, 0, 1000, CollectiveOp::send, 64).peer = peer_at_place(9);
  Problems problems;
  EXPECT_TRUE(world_.assemble_alone(problems).instances.empty());
  EXPECT_EQ(problems.count(Code::collective_unmatched), 1);
}

}  // namespace
}  // namespace ccl
