#include "parse/launch_join.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

namespace ccl {
namespace {

std::uint32_t add_row(EventTable& events) {
  events.start_ns.push_back(0);
  events.launch_ns.push_back(absent_ns);
  events.launch_thread.push_back(0);
  return static_cast<std::uint32_t>(events.size() - 1);
}

TEST(LaunchJoin, OrderInTheFileDoesNotMatter) {
  EventTable events;
  LaunchJoin join;
  join.add_launch(5, 100, 2, false);
  join.add_event(5, add_row(events), events);
  join.add_event(6, add_row(events), events);
  join.add_launch(6, 200, 3, false);
  join.add_event(7, add_row(events), events);
  join.finish(events);
  EXPECT_EQ(events.launch_ns[0], 100);
  EXPECT_EQ(events.launch_thread[0], 2U);
  EXPECT_EQ(events.launch_ns[1], 200);
  EXPECT_EQ(events.launch_ns[2], absent_ns);
}

TEST(LaunchJoin, FirstLaunchOfACorrelationCounts) {
  EventTable events;
  LaunchJoin join;
  join.add_launch(5, 100, 2, false);
  join.add_launch(5, 300, 4, false);
  join.add_event(5, add_row(events), events);
  EXPECT_EQ(events.launch_ns[0], 100);
}

TEST(LaunchJoin, GraphLaunchesServeAnyNumberOfKernelsHoweverMuchComesBetween) {
  EventTable events;
  LaunchJoin join;
  join.add_launch(1, 50, 0, true);
  for (std::int64_t i = 2; i < 30000; ++i) {
    join.add_launch(i, 100 + i, 0, false);
    join.add_event(i, add_row(events), events);
    ASSERT_EQ(events.launch_ns[events.size() - 1], 100 + i);
  }
  join.add_event(1, add_row(events), events);
  EXPECT_EQ(events.launch_ns[events.size() - 1], 50);
}

TEST(LaunchJoin, LaunchesThatWaitAreAllKept) {
  EventTable events;
  LaunchJoin join;
  for (std::int64_t i = 1; i <= 20000; ++i) join.add_launch(i * 7, i, 0, false);
  for (std::int64_t i = 20000; i >= 1; --i) join.add_event(i * 7, add_row(events), events);
  for (std::int64_t i = 1; i <= 20000; ++i) ASSERT_EQ(events.launch_ns[static_cast<std::size_t>(20000 - i)], i);
}

TEST(LaunchJoin, LaunchesOfSeveralThreadsInAnyOrderAreFound) {
  EventTable events;
  LaunchJoin join;
  std::mt19937 random(7);
  std::map<std::int64_t, std::int64_t> first_start;
  std::set<std::int64_t> used;
  std::vector<std::int64_t> keys;
  std::int64_t next = 1;
  for (std::int64_t i = 0; i < 30000; ++i) {
    next += 1 + random() % 3;
    const std::int64_t key = random() % 8 == 0 ? next - random() % 500 : next;
    if (key <= 0 || used.count(key) != 0) continue;
    join.add_launch(key, i, 1, random() % 2 == 0);
    if (first_start.emplace(key, i).second) keys.push_back(key);
    if (random() % 2 == 0) {
      const std::int64_t wanted = keys[keys.size() - 1 - random() % std::min<std::size_t>(keys.size(), 3000)];
      // Only launches of graphs outlive their first event.
      const auto at = first_start.find(wanted);
      if (at == first_start.end()) continue;
      join.add_event(wanted, add_row(events), events);
      ASSERT_EQ(events.launch_ns[events.size() - 1], at->second) << wanted;
      first_start.erase(at);
      used.insert(wanted);
    }
  }
  for (const auto& [key, start] : first_start) {
    join.add_event(key, add_row(events), events);
    ASSERT_EQ(events.launch_ns[events.size() - 1], start) << key;
  }
  EXPECT_GT(first_start.size(), 1000U);
}

TEST(LaunchJoin, EventsBeforeTheirLaunchesAreFoundInAnyNumber) {
  EventTable events;
  LaunchJoin join;
  std::mt19937 random(11);
  std::int64_t next_launch = 1;
  for (std::int64_t key = 1; key <= 60000; ++key) {
    join.add_event(key, add_row(events), events);
    // Launches lag behind by up to 20 000 events and now and then catch up.
    const std::int64_t until = random() % 1000 == 0 ? key : key - 20000;
    for (; next_launch <= until; ++next_launch) join.add_launch(next_launch, 10 * next_launch, 3, false);
  }
  join.add_event(7, add_row(events), events);  // its launch is used and may be gone
  for (; next_launch <= 60000; ++next_launch) join.add_launch(next_launch, 10 * next_launch, 3, false);
  join.finish(events);
  for (std::int64_t key = 1; key <= 60000; ++key)
    ASSERT_EQ(events.launch_ns[static_cast<std::size_t>(key - 1)], 10 * key);
}

TEST(LaunchJoin, ZeroIsNoCorrelation) {
  EventTable events;
  LaunchJoin join;
  join.add_launch(0, 100, 2, false);
  join.add_event(0, add_row(events), events);
  join.finish(events);
  EXPECT_EQ(events.launch_ns[0], absent_ns);
}

}  // namespace
}  // namespace ccl
