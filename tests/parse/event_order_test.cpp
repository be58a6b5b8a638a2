#include "parse/event_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <tuple>

namespace ccl {
namespace {

using Start = std::function<std::int64_t(std::int64_t row)>;

RankTrace trace_of(std::int64_t count, const Start& start) {
  RankTrace trace;
  EventTable& events = trace.events;
  for (std::int64_t i = 0; i < count; ++i) {
    events.start_ns.push_back(start(i));
    events.dur_ns.push_back(i);
    events.name.push_back(static_cast<std::uint32_t>(i));
    events.lane.push_back(static_cast<std::uint16_t>(i % 3));
    events.kind.push_back(EventKind::compute);
    events.step.push_back(-1);
    events.correlation.push_back(i % 2);
    events.launch_ns.push_back(2 * i);
    events.launch_thread.push_back(static_cast<std::uint32_t>(3 * i));
    if (i % 4 == 0) trace.collectives.push_back({.event = static_cast<std::uint32_t>(i), .sequence = i});
  }
  return trace;
}

/// The old row of each is in its name.
void expect_in_order(const RankTrace& trace, std::int64_t count, const Start& start, const std::string& what) {
  const EventTable& events = trace.events;
  ASSERT_EQ(events.size(), static_cast<std::size_t>(count)) << what;
  const auto key = [&](std::size_t i) {
    return std::tuple(events.start_ns[i], events.lane[i], events.correlation[i], events.name[i]);
  };
  for (std::size_t i = 0; i < events.size(); ++i) {
    const auto row = static_cast<std::int64_t>(events.name[i]);
    ASSERT_TRUE(i == 0 || key(i - 1) < key(i)) << what << ", row " << i;
    ASSERT_EQ(events.start_ns[i], start(row)) << what;
    ASSERT_EQ(std::tuple(events.dur_ns[i], events.launch_ns[i], events.launch_thread[i], events.lane[i]),
              std::tuple(row, 2 * row, 3 * row, row % 3)) << what;
  }
  for (const Collective& one : trace.collectives) ASSERT_EQ(events.name[one.event], one.sequence) << what;
}

TEST(EventOrder, IsTheSameForAnyNumberOfThreads) {
  const std::vector<std::pair<std::string, Start>> files{
      {"in order", [](std::int64_t i) { return i; }},
      {"all at once", [](std::int64_t) { return 7; }},
      {"a few places off", [](std::int64_t i) { return i + (i * 7919) % 13; }},
      {"the last few are the first", [](std::int64_t i) { return i % 1000 < 995 ? i : i - 2000; }},
      {"two queues behind each other", [](std::int64_t i) { return i < 600 ? 2 * i : 2 * (i - 600) + 1; }},
      {"backwards", [](std::int64_t i) { return -i; }},
      {"anyhow", [](std::int64_t i) { return (i * 617) % 1009; }}};
  for (const auto& [what, start] : files)
    for (const std::int64_t count : {0, 1, 2, 3, 5, 8, 100, 1200})
      for (const std::size_t lent : {0U, 1U, 2U, 4U}) {
        RankTrace trace = trace_of(count, start);
        sort_events(trace, std::vector<Processors>(lent, own_processors()));
        expect_in_order(trace, count, start, what + ", " + std::to_string(count) + " events, " + std::to_string(lent) + " lent");
      }
}

}  // namespace
}  // namespace ccl
