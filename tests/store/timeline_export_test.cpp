#include "store/timeline_export.hpp"

#include <gtest/gtest.h>

namespace ccl {
namespace {

constexpr std::int64_t ms = 1'000'000, hour = 3'600'000 * ms;

/// Two ranks on two hosts, each with one step of 10 ms; rank 1 begins so much later.
struct TwoHosts {
  Config config;
  Ranks ranks;
  ClockModel clock;
  explicit TwoHosts(std::int64_t later_ns) {
    for (const std::int32_t rank : {0, 1}) {
      RankEntry entry;
      entry.rank = RankId(rank);
      entry.host_index = rank;
      entry.facts.first_ns = rank * later_ns;
      const DeviceWindow window{.device = 0, .gpu_start_ns = entry.facts.first_ns, .gpu_end_ns = entry.facts.first_ns + 10 * ms};
      entry.facts.steps.push_back({.number = 0, .devices = {window}});
      ranks.entries.push_back(entry);
      ranks.hosts.push_back("host" + std::to_string(rank));
    }
    clock.hosts.resize(2);
    clock.residual_ns = 1000;
  }
  std::string line() const { return own_clocks_line(config, ranks, clock); }
};

TEST(TimelineExport, ClocksThatAreKnownAreOne) { EXPECT_EQ(TwoHosts(ms).line(), ""); }

TEST(TimelineExport, WithoutACommonClockEachRankBeginsAtZero) {
  TwoHosts unknown(ms);
  unknown.clock.residual_ns = hour;
  EXPECT_EQ(unknown.line(), "timeline: each rank begins at 0: the clocks of the ranks are known to 3600 s only, more than a tenth "
                            "of a step (10.0 ms)\n");
  unknown.config.timeline_export.alignment = "individual";
  EXPECT_EQ(unknown.line(), "") << "as it was asked for";
  TwoHosts near(ms), far(2 * hour);
  near.clock.hosts[1].corrected = far.clock.hosts[1].corrected = false;
  EXPECT_EQ(near.line(), "") << "hosts that are set by one time source";
  EXPECT_EQ(far.line(), "timeline: each rank begins at 0: hosts without a common clock begin 7200 s apart\n");
}

}  // namespace
}  // namespace ccl
