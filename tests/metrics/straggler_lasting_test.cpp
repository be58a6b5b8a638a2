#include "metrics/straggler_lasting.hpp"

#include <gtest/gtest.h>

namespace ccl::test {
namespace {

using namespace straggler;

/// One rank's part: how long its kernel was queued after the launch, how long it ran, and what came before.
struct Part {
  std::uint32_t queued_ns = 0;
  std::int64_t dur_ns = 0;
  std::uint32_t starved_ns = 0, synchronised_ns = 0;
};

/// A step of one group in which the last of three ranks is 2; sums of rank 2's rows.
class Step {
 public:
  void collective(const std::vector<Part>& parts) {
    MatchedInstance instance;
    instance.group = GroupId(1);
    instance.step = 5;
    instance.last_end_ns = static_cast<std::int64_t>(instances_.size());
    instance.members_seen = static_cast<std::int32_t>(parts.size());
    instance.first_member = static_cast<std::uint32_t>(members_.size());
    std::vector<std::int64_t> durations;
    for (std::size_t r = 0; r < parts.size(); ++r) {
      MatchedMember member;
      member.rank = RankId(static_cast<std::int32_t>(r));
      member.dur_ns = parts[r].dur_ns;
      member.before.queued_ns = parts[r].queued_ns;
      member.before.starved_ns = parts[r].starved_ns;
      member.before.synchronised_ns = parts[r].synchronised_ns;
      members_.push_back(member);
      durations.push_back(parts[r].dur_ns);
    }
    const auto least = std::min_element(durations.begin(), durations.end());
    instance.last_rank = static_cast<std::int32_t>(least - durations.begin());
    std::nth_element(durations.begin(), durations.begin() + 1, durations.end());
    instance.delay_ns = durations[1] - durations[0];
    instances_.push_back(instance);
  }
  CauseSums rank_2() {
    std::vector<const MatchedInstance*> all;
    for (const MatchedInstance& instance : instances_) all.push_back(&instance);
    std::vector<CauseSums> rows;
    const Stages stages;
    CausesOfStep(stages).add(
        all,
        [&](const MatchedInstance& instance) {
          return std::span(members_).subspan(instance.first_member, static_cast<std::size_t>(instance.members_seen));
        },
        rows);
    CauseSums sum;
    for (const CauseSums& row : rows)
      if (row.rank == RankId(2)) sum.combine(row);
    return sum;
  }

 private:
  std::vector<MatchedInstance> instances_;
  std::vector<MatchedMember> members_;
};

/// Ranks 0 and 1 launch `lag_ns` before rank 2, whose device idled that long.
std::vector<Part> late_by(std::uint32_t lag_ns, std::uint32_t others_waited_ns = 0) {
  return {{10, 1000 + lag_ns, 0, others_waited_ns}, {10, 1000 + lag_ns, 0, others_waited_ns}, {10, 1000, lag_ns, 0}};
}

TEST(LastingLag, WhatIsThereAtEveryCollectiveCountsOnce) {
  Step step;
  for (int i = 0; i < 20; ++i) step.collective(late_by(3000));
  const CauseSums sum = step.rank_2();
  EXPECT_EQ(sum.delay_ns, 60000);
  EXPECT_EQ(sum.late_ns, 60000);
  EXPECT_EQ(sum.late_ns - sum.lasting_ns, 3000);
  EXPECT_EQ(sum.lasting_count, 19);
  EXPECT_EQ(sum.first_ns, 3000) << "it may come from the step before";
  EXPECT_EQ(sum.kept_ns, 3000);
}

TEST(LastingLag, OnlyTheIncreaseIsNew) {
  Step step;
  for (const std::uint32_t lag_ns : {1000U, 2000U, 1900U, 2000U, 5000U}) step.collective(late_by(lag_ns));
  const CauseSums sum = step.rank_2();
  EXPECT_EQ(sum.late_ns - sum.lasting_ns, 5000) << "going up and down a little adds nothing";
}

TEST(LastingLag, ASlowCpuFallsFurtherBehindAtEveryCollective) {
  Step step;  // the others launched everything long ago and wait as long as rank 2 idles each time
  for (std::uint32_t i = 1; i <= 5; ++i)
    step.collective({{1000 * (i - 1), 2000, 0, 0}, {1000 * (i - 1), 2000, 0, 0}, {10, 1000, 1000, 0}});
  const CauseSums sum = step.rank_2();
  EXPECT_EQ(sum.delay_ns, 5000);
  EXPECT_NEAR(static_cast<double>(sum.late_ns - sum.lasting_ns), 5000, 50);
}

TEST(LastingLag, LagThatWasMadeUpIsNewWhenItComesBack) {
  Step step;
  step.collective(late_by(3000));
  step.collective({{10, 1000, 0, 0}, {10, 1010, 0, 0}, {10, 1020, 0, 0}});
  step.collective(late_by(3000));
  const CauseSums sum = step.rank_2();
  EXPECT_EQ(sum.late_ns - sum.lasting_ns, 6000);
  EXPECT_EQ(sum.first_ns, 3000) << "only the first can be from before";
}

TEST(LastingLag, WhoWaitsForItsDeviceLosesItsLead) {
  Step step;
  for (int i = 0; i < 4; ++i) step.collective(late_by(3000, i == 0 ? 0 : 3000));
  const CauseSums sum = step.rank_2();
  EXPECT_EQ(sum.late_ns - sum.lasting_ns, 12000) << "level after every call that synchronises, and late again";
}

TEST(LastingLag, ADeviceThatWasBusyIsNotLateByItsLaunch) {
  Step step;
  step.collective({{10, 1000, 0, 0}, {10, 1000, 0, 0}, {10, 1000, 0, 0}});
  step.collective({{90'000, 4000, 0, 0}, {90'000, 4000, 0, 0}, {90'000, 1000, 0, 0}});
  EXPECT_EQ(step.rank_2().late_ns, 0) << "its launch was late, but its device had other work";
}

TEST(LastingLag, WhatBeginsAsItIsLaunchedIsLateByItsLaunch) {
  Step step;
  step.collective({{10, 1000, 0, 0}, {10, 1000, 0, 0}, {10, 1000, 0, 0}});
  step.collective({{90'000, 4000, 0, 0}, {90'000, 4000, 0, 0}, {10, 1000, 0, 0}});
  EXPECT_EQ(step.rank_2().late_ns, 3000) << "though other streams ran meanwhile";
}

TEST(LastingLag, BeforeTheFirstCollectiveTheLaunchesTell) {
  Step step;
  step.collective({{10, 4000, 0, 0}, {10, 4000, 0, 0}, {10, 1000, 0, 0}});
  EXPECT_EQ(step.rank_2().late_ns, 3000);
}

TEST(LastingLag, WithoutLaunchesEveryDelayCounts) {
  Step step;
  const std::uint32_t unknown = BeforeCollective::unknown_ns;
  for (int i = 0; i < 3; ++i) step.collective({{unknown, 4000}, {unknown, 4000}, {unknown, 1000}});
  const CauseSums sum = step.rank_2();
  EXPECT_EQ(sum.delay_ns, 9000);
  EXPECT_EQ(sum.late_ns, 0);
}

}  // namespace
}  // namespace ccl::test
