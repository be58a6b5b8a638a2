#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <string_view>

#include "comm/bell.hpp"
#include "comm/message_limit.hpp"
#include "comm/one_node.hpp"
#include "core/problems.hpp"
#include "support/mpi_world.hpp"

namespace ccl {
namespace {

using test::world;

Bytes pattern(std::size_t size, int seed) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>((i * 7 + static_cast<std::size_t>(seed)) % 251);
  return bytes;
}

std::size_t parcel_size(int from, int to) { return static_cast<std::size_t>((from * 13 + to * 5) % 4) * 100; }

/// Restores the normal message limit also when an assertion ends the test early.
struct ShortMessages {
  explicit ShortMessages(std::size_t bytes) { limit_messages_for_test(bytes); }
  ~ShortMessages() { limit_messages_for_test(0); }
};

void expect_exchange_delivers() {
  const int me = world().worker();
  std::vector<Bytes> out;
  for (int to = 0; to < world().num_workers(); ++to) out.push_back(pattern(parcel_size(me, to), me * 100 + to));
  const std::vector<Bytes> in = world().exchange(std::move(out));
  ASSERT_EQ(in.size(), static_cast<std::size_t>(world().num_workers()));
  for (int from = 0; from < world().num_workers(); ++from)
    EXPECT_EQ(in[static_cast<std::size_t>(from)], pattern(parcel_size(from, me), from * 100 + me)) << "from " << from;
}

TEST(Comm, ExchangeDeliversUnlikeCounts) { expect_exchange_delivers(); }

TEST(Comm, LongParcelsTravelInPieces) {
  const ShortMessages limit(33);
  expect_exchange_delivers();
}

TEST(Comm, OnlyTheMiddleWorkerHasSomething) {
  const int middle = world().num_workers() / 2;
  std::vector<Bytes> out(static_cast<std::size_t>(world().num_workers()));
  if (world().worker() == middle)
    for (auto& parcel : out) parcel = pattern(10, middle);
  const std::vector<Bytes> in = world().exchange(std::move(out));
  for (int from = 0; from < world().num_workers(); ++from)
    EXPECT_EQ(in[static_cast<std::size_t>(from)].size(), from == middle ? 10U : 0U);
  const std::vector<Bytes> all = world().gather_all(world().worker() == middle ? pattern(10, 3) : Bytes());
  for (int from = 0; from < world().num_workers(); ++from)
    EXPECT_EQ(all[static_cast<std::size_t>(from)].size(), from == middle ? 10U : 0U);
}

TEST(Comm, WhoSleepsReceivesWhatOthersDo) {
  const int workers = world().num_workers(), from = (world().worker() + workers - 1) % workers;
  world().send((world().worker() + 1) % workers, pattern(50, world().worker()));
  EXPECT_EQ(world().receive_asleep(from), pattern(50, from));
  for (int worker = 0; worker < workers; ++worker) EXPECT_TRUE(world().on_my_node(worker));
}

TEST(Comm, WhoSleepsIsWoken) {
  const int workers = world().num_workers(), from = (world().worker() + workers - 1) % workers;
  for (int round = 0; round < 3; ++round) {
    world().send_to_asleep((world().worker() + 1) % workers, pattern(50 + static_cast<std::size_t>(round), world().worker()));
    EXPECT_EQ(world().receive_asleep(from), pattern(50 + static_cast<std::size_t>(round), from));
  }
}

TEST(Bell, IsHeardOnceByWhoWaitsOrWillWait) {
  using namespace std::chrono_literals;
  const Bell rings, waits;
  EXPECT_FALSE(waits.wait(100us));
  rings.ring(waits.name());
  rings.ring(waits.name());
  // Where the system has no bells, nobody hears any.
  EXPECT_EQ(waits.wait(10s), waits.name() != Bell::Name{});
  EXPECT_FALSE(waits.wait(100us));
}

TEST(Bell, RungForNobodyIsNoError) {
  const Bell bell;
  Bell::Name gone;
  {
    const Bell other;
    gone = other.name();
  }
  bell.ring(gone);
  bell.ring({});
  EXPECT_FALSE(bell.wait(std::chrono::microseconds(100)));
}

TEST(Comm, WhatOneNodeNeedsNotWasSetBeforeTheStart) {
  static_cast<void>(world());
  const auto as_before = [](const char* variable) {
    const std::string_view name(variable);
    return name == "OMPI_MCA_pml" || name == "OMPI_MCA_btl_tcp_disable_family" ? nullptr : std::getenv(variable);
  };
  for (const auto& [name, value] : settings_of_one_node(as_before)) {
    const char* set = std::getenv(name);
    ASSERT_NE(set, nullptr) << name;
    if (std::string_view(set) != value) GTEST_SKIP() << name << " was set by whoever started this test";
  }
}

TEST(Comm, AloneNeedsNoOther) {
  int count = 0;
  char** arguments = nullptr;
  const Comm alone(count, arguments, MpiStart::alone);
  EXPECT_EQ(alone.num_workers(), 1);
  EXPECT_TRUE(alone.is_first());
  alone.barrier();
  EXPECT_EQ(alone.broadcast(pattern(9, 1)), pattern(9, 1));
  EXPECT_EQ(alone.gather_all(pattern(5, 2)), std::vector<Bytes>{pattern(5, 2)});
  EXPECT_EQ(alone.exchange({pattern(7, 3)}), std::vector<Bytes>{pattern(7, 3)});
  EXPECT_EQ(exchange_rows(alone, std::vector<std::vector<int>>{{1, 2}}), (std::vector<int>{1, 2}));
  alone.send(0, pattern(4, 4));
  EXPECT_EQ(alone.receive(0), pattern(4, 4));
  EXPECT_EQ(alone.sum({7, -7}), (std::vector<std::int64_t>{7, -7}));
  EXPECT_EQ(alone.sum(3) + alone.max(4) + alone.min(5) + alone.exclusive_sum(6), 12);
  EXPECT_EQ(alone.report({2, 3, 0}).bytes, 3);
  EXPECT_EQ(alone.native_handle(), nullptr);
  EXPECT_EQ(alone.sent_bytes(), 0);
}

TEST(Comm, WhatIsSentIsCounted) {
  const std::int64_t before = world().sent_bytes(), others = world().num_workers() - 1;
  world().gather_all(pattern(10, 1));
  EXPECT_EQ(world().sent_bytes() - before, 10 * others);
  std::vector<Bytes> out(static_cast<std::size_t>(world().num_workers()), pattern(3, 2));
  world().exchange(std::move(out));
  EXPECT_EQ(world().sent_bytes() - before, 13 * others);
  world().sum({1, 2, 3});
  EXPECT_EQ(world().sent_bytes() - before, 13 * others + (others > 0 ? 24 : 0));
}

TEST(Comm, NobodyHasAnything) {
  for (const Bytes& part : world().exchange(std::vector<Bytes>(static_cast<std::size_t>(world().num_workers()))))
    EXPECT_TRUE(part.empty());
  for (const Bytes& part : world().gather_all({})) EXPECT_TRUE(part.empty());
  EXPECT_TRUE(world().broadcast({}).empty());
}

void expect_gather_and_broadcast() {
  const int me = world().worker();
  const std::vector<Bytes> all = world().gather_all(pattern(parcel_size(me, 1), me));
  for (int from = 0; from < world().num_workers(); ++from)
    EXPECT_EQ(all[static_cast<std::size_t>(from)], pattern(parcel_size(from, 1), from));
  EXPECT_EQ(world().broadcast(world().is_first() ? pattern(1000, 9) : pattern(3, 1)), pattern(1000, 9));
}

TEST(Comm, GatherAllAndBroadcast) { expect_gather_and_broadcast(); }

TEST(Comm, GatherAllAndBroadcastInPieces) {
  const ShortMessages limit(64);
  expect_gather_and_broadcast();
}

TEST(Comm, SendAndReceiveAroundTheRing) {
  const ShortMessages limit(64);
  const int me = world().worker(), workers = world().num_workers();
  const int next = (me + 1) % workers, previous = (me + workers - 1) % workers;
  for (const std::size_t size : {std::size_t{0}, std::size_t{64}, std::size_t{1000}}) {
    if (me == 0) world().send(next, pattern(size, me));
    EXPECT_EQ(world().receive(previous), pattern(size, previous));
    if (me != 0) world().send(next, pattern(size, me));
  }
}

TEST(Comm, SumsAndExtremes) {
  const std::int64_t me = world().worker(), workers = world().num_workers();
  EXPECT_EQ(world().sum(me + 1), workers * (workers + 1) / 2);
  EXPECT_EQ(world().min(me - 5), -5);
  EXPECT_EQ(world().max(me), workers - 1);
  EXPECT_EQ(world().exclusive_sum(me + 1), me * (me + 1) / 2);
}

void expect_sums_by_element() {
  const std::int64_t me = world().worker(), workers = world().num_workers();
  std::vector<std::int64_t> mine, all;
  for (std::int64_t i = 0; i < 100; ++i) {
    mine.push_back(me * i - 3);
    all.push_back(i * workers * (workers - 1) / 2 - 3 * workers);
  }
  EXPECT_EQ(world().sum(mine), all);
  EXPECT_TRUE(world().sum(std::vector<std::int64_t>()).empty());
}

TEST(Comm, SumsByElement) { expect_sums_by_element(); }

TEST(Comm, SumsByElementInPieces) {
  const ShortMessages limit(64);
  expect_sums_by_element();
}

TEST(Comm, RowsKeepWorkerOrder) {
  struct Row {
    std::int32_t worker, number;
  };
  const int me = world().worker();
  std::vector<Row> mine;
  for (int i = 0; i < me; ++i) mine.push_back({me, i});
  const std::vector<Row> all = gather_all_rows(world(), mine);
  std::size_t at = 0;
  for (int w = 0; w < world().num_workers(); ++w)
    for (int i = 0; i < w; ++i, ++at) {
      ASSERT_LT(at, all.size());
      EXPECT_EQ(all[at].worker, w);
      EXPECT_EQ(all[at].number, i);
    }
  EXPECT_EQ(at, all.size());
}

TEST(Comm, ReportsReachTheFirstWorker) {
  const std::int64_t workers = world().num_workers();
  const Comm::Totals mine{1, 10 * (world().worker() + 1), world().worker() == workers - 1 ? 1 : 0};
  Comm::Totals seen = world().report(mine);
  if (!world().is_first()) {
    EXPECT_EQ(seen.bytes, mine.bytes);
    world().receive(0);  // worker 0 has seen everything
    return;
  }
  // Bounded by the test's timeout: the reports were sent before the others began to wait.
  while (seen.files < workers) seen = world().report(mine);
  EXPECT_EQ(seen.bytes, 10 * workers * (workers + 1) / 2);
  EXPECT_EQ(seen.stop, 1);
  for (int w = 1; w < workers; ++w) world().send(w, {});
}

TEST(Comm, WorkersOnOneNodeAreCounted) { EXPECT_EQ(world().workers_on_node(), world().num_workers()); }

/// Fails on the workers for which fails(worker) holds; returns what this worker caught ("" = nothing).
template <class F>
std::string caught(F fails) {
  try {
    together(world(), [&] {
      if (fails(world().worker()))
        throw FatalError(ExitCode::bad_request, "broken on " + std::to_string(world().worker()));
    });
  } catch (const FatalError& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::bad_request);
    return error.what();
  }
  return "";
}

TEST(Together, NobodyFails) { EXPECT_EQ(caught([](int) { return false; }), ""); }
TEST(Together, FailureOnTheFirstWorkerReachesAll) { EXPECT_EQ(caught([](int w) { return w == 0; }), "broken on 0"); }
TEST(Together, FailureOnWorkerTwoReachesAll) {
  EXPECT_EQ(caught([](int w) { return w == 2; }), world().num_workers() > 2 ? "broken on 2" : "");
}
TEST(Together, FailureOnAllIsTheFirstOne) { EXPECT_EQ(caught([](int) { return true; }), "broken on 0"); }

TEST(Together, LackOfMemoryIsARuntimeFailure) {
  try {
    together(world(), [] {
      if (world().worker() == world().num_workers() - 1) throw std::bad_alloc();
    });
    ADD_FAILURE() << "nothing was thrown";
  } catch (const FatalError& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::runtime_failure);
    EXPECT_NE(std::string(error.what()).find("out of memory"), std::string::npos);
  }
}

}  // namespace
}  // namespace ccl
