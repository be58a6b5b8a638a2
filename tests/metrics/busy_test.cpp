#include "metrics/busy.hpp"

#include <gtest/gtest.h>

#include <random>
#include <tuple>

#include "support/trace_builder.hpp"

namespace ccl::test {
namespace {

struct Expected {
  Intervals communication, compute, memory;
  std::array<std::int64_t, 3> events_count{};
};

/// Of the events that belong to a step (−1: of all events) on a device.
Expected of_events(const RankTrace& trace, std::int32_t step, std::int32_t device) {
  Expected out;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    if (trace.lanes[trace.events.lane[i]].device != device || (step >= 0 && trace.events.step[i] != step)) continue;
    const EventKind kind = trace.events.kind[i];
    const std::size_t which = kind == EventKind::communication ? 0 : kind == EventKind::compute ? 1 : 2;
    Intervals& list = which == 0 ? out.communication : which == 1 ? out.compute : out.memory;
    list.push_back({trace.events.start_ns[i], trace.events.end_ns(i)});
    ++out.events_count[which];
  }
  for (Intervals* list : {&out.communication, &out.compute, &out.memory}) *list = merge_intervals(*list);
  return out;
}

void expect_equal(const BusyLists& lists, const Expected& expected) {
  EXPECT_EQ(lists.communication, expected.communication);
  EXPECT_EQ(lists.compute, expected.compute);
  EXPECT_EQ(lists.memory, expected.memory);
  EXPECT_EQ(lists.events_count, expected.events_count);
}

/// Two devices, three kinds, four steps; an event is launched up to `late_ns` before it starts.
RankTrace some_trace(std::mt19937& random, std::int64_t late_ns, int events_count = 60,
                     const std::vector<CollectiveOp>& ops = {CollectiveOp::all_reduce}) {
  const auto some = [&](std::int64_t most) { return static_cast<std::int64_t>(random() % static_cast<unsigned>(most)); };
  TraceBuilder builder;
  builder.group("dp", "", {0, 1});
  const auto some_op = [&] { return ops.size() == 1 ? ops[0] : ops[random() % ops.size()]; };
  for (std::int64_t step = 0; step < 4; ++step) builder.step(step, 100 + step * 200, 300 + step * 200);
  for (int i = 0; i < events_count; ++i) {
    const std::int64_t start_ns = some(1000), launch_ns = start_ns - some(late_ns);
    builder.device(static_cast<std::int32_t>(some(2))).stream(some(3));
    switch (some(3)) {
      case 0: builder.kernel("k", start_ns, some(40), launch_ns); break;
      case 1: builder.copy("c", 8, start_ns, some(40), launch_ns); break;
      default: builder.collective(some_op(), "dp", 8, start_ns, some(40), launch_ns); break;
    }
  }
  return builder.build();
}

TEST(BusyTrace, ListsAreThoseOfTheEventsInAnyOrderOfAsking) {
  std::mt19937 random(3);
  for (const std::int64_t late_ns : {1, 50, 900}) {  // 900: the rows of every step reach over the whole file
    for (int trial = 0; trial < 20; ++trial) {
      const RankTrace trace = some_trace(random, late_ns);
      const BusyTrace busy(trace, {}, {.lists = trial % 2 == 0});
      ASSERT_EQ(busy.devices_count, 2U);
      for (std::size_t d = 0; d < 2; ++d) {
        expect_equal(busy.whole()[d], of_events(trace, -1, trace.devices[d]));
        for (const std::size_t s : {0U, 1U, 3U, 2U, 0U})
          expect_equal(busy.step(s, d), of_events(trace, static_cast<std::int32_t>(s), trace.devices[d]));
      }
    }
  }
}

void expect_sums(const RankTrace& trace, const BusyTrace& busy) {
  for (std::size_t s = 0; s < trace.steps.size(); ++s)
    for (std::size_t d = 0; d < 2; ++d) {
      const Expected expected = of_events(trace, static_cast<std::int32_t>(s), trace.devices[d]);
      const BusySums& sums = busy.sums(s, d);
      EXPECT_EQ(sums.events_count, expected.events_count);
      EXPECT_EQ(sums.budget.communication_ns, length_ns(expected.communication));
      EXPECT_EQ(sums.budget.compute_ns, length_ns(expected.compute));
      EXPECT_EQ(sums.budget.memory_ns, length_ns(expected.memory));
      EXPECT_EQ(sums.budget.overlap_ns, overlap_ns(expected.communication, expected.compute));
    }
}

TEST(BusyTrace, SumsAreThoseOfTheListsOfEachStep) {
  std::mt19937 random(4);
  const RankTrace trace = some_trace(random, 50);
  const std::vector<Processors> lent(2, own_processors());
  for (const bool lists : {false, true}) {
    expect_sums(trace, BusyTrace(trace, {}, {.lists = lists}));
    expect_sums(trace, BusyTrace(trace, lent, {.lists = lists}));
  }
}

TEST(BusyTrace, SumsOfManyEventsAreMadeSideBySide) {
  std::mt19937 random(5);
  const RankTrace trace = some_trace(random, 50, (1 << 19) + 1);
  const std::vector<Processors> lent(2, own_processors());
  expect_sums(trace, BusyTrace(trace));
  expect_sums(trace, BusyTrace(trace, lent));
}

template <class Kind>
void expect_parts(const RankTrace& trace, const std::vector<BusyPart<Kind>>& parts, Kind only) {
  std::size_t at = 0;
  for (std::size_t s = 0; s < trace.steps.size(); ++s)
    for (std::size_t d = 0; d < 2; ++d, ++at) {
      const Expected expected = of_events(trace, static_cast<std::int32_t>(s), trace.devices[d]);
      ASSERT_LT(at, parts.size());
      EXPECT_EQ(std::tuple(parts[at].step_row, parts[at].device_row, parts[at].kind), std::tuple(s, d, only));
      EXPECT_EQ(parts[at].calls_count, expected.events_count[0]);
      EXPECT_EQ(parts[at].communication_ns, length_ns(expected.communication));
      EXPECT_EQ(parts[at].overlap_ns, overlap_ns(expected.communication, expected.compute));
    }
  EXPECT_EQ(at, parts.size());
}

TEST(BusyTrace, PartsOfOneKindAreTheWholeCommunication) {
  std::mt19937 random(6);
  const std::vector<Processors> lent(2, own_processors());
  for (const int events_count : {400, (1 << 19) + 1}) {
    const RankTrace trace = some_trace(random, 50, events_count);
    const BusyTrace asked_before(trace, lent, {.parts = true}), alone(trace, {}, {.parts = true});
    const BusyTrace asked_behind(trace, {}, {.lists = true});
    expect_sums(trace, asked_behind);
    for (const BusyTrace* busy : {&asked_before, &asked_behind, &alone}) {
      expect_parts(trace, busy->parts().by_op, CollectiveOp::all_reduce);
      expect_parts(trace, busy->parts().by_dimension, trace.groups[0].dimension);
      const auto whole = busy->whole_by_op();
      ASSERT_EQ(whole.size(), 2U);
      for (std::size_t d = 0; d < 2; ++d) {
        EXPECT_EQ(whole[d].communication_ns, length_ns(busy->whole()[d].communication));
        EXPECT_EQ(whole[d].overlap_ns, busy->whole()[d].whole_budget().overlap_ns);
      }
    }
    expect_sums(trace, asked_before);
  }
}

/// Collectives of one operation in a step (−1: in the file) on a device, and how many they are.
std::pair<Intervals, std::int64_t> of_op(const RankTrace& trace, std::int32_t step, std::int32_t device, CollectiveOp op) {
  Intervals list;
  for (const Collective& collective : trace.collectives) {
    const std::size_t i = collective.event;
    if (collective.op == op && trace.lanes[trace.events.lane[i]].device == device && (step < 0 || trace.events.step[i] == step))
      list.push_back({trace.events.start_ns[i], trace.events.end_ns(i)});
  }
  const auto count = static_cast<std::int64_t>(list.size());
  return {merge_intervals(std::move(list)), count};
}

void expect_part_of(const RankTrace& trace, std::int32_t step, const BusyPart<CollectiveOp>& part) {
  const std::int32_t device = trace.devices[part.device_row];
  const auto [list, count] = of_op(trace, step, device, part.kind);
  EXPECT_EQ(part.calls_count, count);
  EXPECT_EQ(part.communication_ns, length_ns(list));
  EXPECT_EQ(part.overlap_ns, overlap_ns(list, of_events(trace, step, device).compute));
}

TEST(BusyTrace, PartsOfEachOperationAreThoseOfItsList) {
  std::mt19937 random(7);
  const std::vector<Processors> lent(2, own_processors());
  const std::vector<CollectiveOp> ops{CollectiveOp::all_reduce, CollectiveOp::all_gather, CollectiveOp::broadcast};
  for (const std::int64_t late_ns : {1, 50, 900})
    for (int trial = 0; trial < 20; ++trial) {
      const RankTrace trace = some_trace(random, late_ns, 200, ops);
      for (const BusyNeeds needs : {BusyNeeds{true, false}, BusyNeeds{true, true}, BusyNeeds{}}) {
        const BusyTrace busy(trace, lent, needs);
        std::int64_t in_steps = 0, in_file = 0;
        for (const auto& part : busy.parts().by_op) {
          expect_part_of(trace, static_cast<std::int32_t>(part.step_row), part);
          in_steps += part.calls_count;
        }
        for (const auto& part : busy.whole_by_op()) {
          expect_part_of(trace, -1, part);
          in_file += part.calls_count;
        }
        EXPECT_EQ(in_file, static_cast<std::int64_t>(trace.collectives.size()));
        for (const Collective& collective : trace.collectives) in_steps -= trace.events.step[collective.event] >= 0 ? 1 : 0;
        EXPECT_EQ(in_steps, 0);
      }
    }
}

TEST(BusyTrace, AStepOfAllEventsIsTheWholeFile) {
  const RankTrace trace = TraceBuilder().kernel("a", 10, 5).kernel("b", 20, 5).build();
  const BusyTrace busy(trace), summed(trace, {}, {.parts = true});
  EXPECT_EQ(summed.sums(0, 0).budget.compute_ns, 10);
  EXPECT_EQ(&busy.step(0, 0), &busy.whole()[0]);
  EXPECT_EQ(busy.step(0, 0).window, (Interval{10, 25}));
}

TEST(BusyTrace, StepsWithoutEventsAreEmpty) {
  const RankTrace trace = TraceBuilder().step(1, 0, 10).step(2, 10, 20).step(3, 20, 30).kernel("a", 21, 5).kernel("b", 40, 5).build();
  const BusyTrace busy(trace);
  EXPECT_TRUE(busy.step(1, 0).empty());
  EXPECT_FALSE(busy.step(2, 0).empty());
  int seen = 0;
  for_each_step(trace, busy, [&](const StepBusy& at) { seen += static_cast<int>(at.step.number); });
  EXPECT_EQ(seen, 3);
}

}  // namespace
}  // namespace ccl::test
