#include "core/processors.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#ifdef __linux__
#include <sys/resource.h>
#endif

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <stdexcept>
#include <vector>

#include "core/problems.hpp"
#include "support/sanitized.hpp"

namespace ccl {
namespace {

std::vector<Processors> lent(std::size_t count) { return std::vector<Processors>(count, own_processors()); }

TEST(Processors, AreCountedOnceWhoeverNamesThem) {
  const auto set = [](unsigned char first, unsigned char second) { return Processors{std::byte{first}, std::byte{second}}; };
  EXPECT_EQ(processors_count(std::vector<Processors>{set(0x03, 0)}), 2U);
  EXPECT_EQ(processors_count(std::vector<Processors>{set(0x03, 0), set(0x03, 0), set(0x06, 0x80)}), 4U);
  EXPECT_EQ(processors_count(std::vector<Processors>{set(0x03, 0), Processors()}), 0U);
  EXPECT_GE(processors_count(std::vector<Processors>{own_processors()}), 1U);
}

TEST(SideBySide, EveryTaskRunsOnce) {
  for (const std::size_t helpers : {0U, 1U, 3U, 12U}) {
    std::vector<std::atomic<int>> ran(7);
    std::vector<std::function<void()>> tasks;
    for (std::atomic<int>& one : ran) tasks.emplace_back([&one] { ++one; });
    side_by_side(lent(helpers), tasks);
    for (const std::atomic<int>& one : ran) EXPECT_EQ(one, 1) << helpers;
    side_by_side(lent(helpers), {});
  }
}

TEST(SideBySide, AloneTheyRunInTheirOrder) {
  std::vector<int> order;
  std::vector<std::function<void()>> tasks;
  for (int i = 0; i < 5; ++i) tasks.emplace_back([&order, i] { order.push_back(i); });
  side_by_side({}, tasks);
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
}

TEST(SideBySide, TheFirstOfSeveralFailuresIsThrownWhenAllHaveEnded) {
  for (const std::size_t helpers : {0U, 2U}) {
    std::atomic<int> ran = 0;
    const auto fails = [&ran](const char* why) {
      return [&ran, why] {
        ++ran;
        throw std::runtime_error(why);
      };
    };
    try {
      side_by_side(lent(helpers), {[&ran] { ++ran; }, fails("second"), fails("third"), [&ran] { ++ran; }});
      FAIL() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "second");
    }
    EXPECT_EQ(ran, 4);
  }
}

/// A task that ends when so many of its kind run at once; false: they never did.
class Together {
 public:
  explicit Together(int count) : count_(count) {}
  bool arrive() {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    for (++arrived_; arrived_ < count_;) {
      if (std::chrono::steady_clock::now() > until) return false;
      sched_yield();
    }
    return true;
  }

 private:
  int count_;
  std::atomic<int> arrived_ = 0;
};

TEST(Processors, WhoseWorkHasEndedHelpsWithTasksThatATaskRuns) {
  const std::vector<Processors> one{own_processors()};
  for (const bool ends_first : {false, true}) {
    Together inner(2);
    std::atomic<bool> began = false, ended = false;
    std::array<bool, 2> met{};
    const auto runs_tasks = [&] {
      while (ends_first && !ended) sched_yield();
      side_by_side(one, {[&] { began = true, met[0] = inner.arrive(); }, [&] { began = true, met[1] = inner.arrive(); }});
    };
    const auto is_short = [&] {
      while (!ends_first && !began) sched_yield();
      ended = true;
    };
    side_by_side(one, {runs_tasks, is_short});
    EXPECT_TRUE(met[0] && met[1]);
  }
}

TEST(Processors, AFewTasksOfATaskGoWhereNobodyIsAtWork) {
  const std::vector<Processors> two(2, own_processors());
  Together inner(2);
  std::atomic<bool> over = false;
  std::array<bool, 2> met{};
  const auto runs_tasks = [&] {
    side_by_side(two, {[&] { met[0] = inner.arrive(); }, [&] { met[1] = inner.arrive(); }});
    over = true;
  };
  side_by_side(two, {runs_tasks, [&] {
                       while (!over) sched_yield();
                     }});
  EXPECT_TRUE(met[0] && met[1]);
}

TEST(Processors, NoSecondThreadIsStartedWhereOneIsAtWork) {
  const std::vector<Processors> one{own_processors()};
  std::atomic<bool> over = false;
  std::set<pthread_t> ran;
  const auto runs_tasks = [&] {
    const auto notes = [&] { ran.insert(pthread_self()); };  // one thread alone: no lock
    side_by_side(one, {notes, notes, notes, notes});
    over = true;
  };
  side_by_side(one, {runs_tasks, [&] {
                       while (!over) sched_yield();
                     }});
  EXPECT_EQ(ran.size(), 1U);
}

TEST(Processors, AThreadRunsWhereItIsPlaced) {
  const Processors own = own_processors();
  ASSERT_FALSE(own.empty());
  // The last of ours alone.
  const auto at = std::find_if(own.rbegin(), own.rend(), [](std::byte eight) { return eight != std::byte{0}; });
  unsigned bit = 0x80;
  while ((std::to_integer<unsigned>(*at) & bit) == 0) bit >>= 1;
  Processors one(own.size());
  one[static_cast<std::size_t>(own.rend() - at) - 1] = static_cast<std::byte>(bit);
  EXPECT_TRUE(can_run_on(one));
  EXPECT_EQ(own_processors(), own) << "the test of it leaves the caller where it was";
  Processors seen;
  PlacedThread(one, [&] { seen = own_processors(); }).join();
  EXPECT_EQ(seen, one);
}

TEST(Processors, AThreadIsKeptForTheNextOneThere) {
  const Processors own = own_processors();
  pthread_t first{}, again{}, beside{};
  PlacedThread(own, [&] { first = pthread_self(); }).join();
  PlacedThread once_more(own, [&] { again = pthread_self(); });
  once_more.join();
  once_more.join();
  EXPECT_TRUE(pthread_equal(first, again));
  std::atomic<bool> go = false;
  PlacedThread busy(own, [&] {
    again = pthread_self();
    while (!go) sched_yield();
  });
  PlacedThread(own, [&] { beside = pthread_self(); }).join();
  go = true;
  busy.join();
  EXPECT_TRUE(pthread_equal(first, again));
  EXPECT_FALSE(pthread_equal(first, beside));
}

TEST(Processors, WhereItMayNotRunAThreadRunsWhereItsMakerDoes) {
  const Processors none(own_processors().size());
  for (const Processors& refused : {none, Processors()}) {
    EXPECT_FALSE(can_run_on(refused));
    Processors seen;
    PlacedThread(refused, [&] { seen = own_processors(); }).join();
    EXPECT_EQ(seen, own_processors());
  }
}

#ifdef __linux__
TEST(PlacedThreadDeathTest, ThatCannotBeStartedIsNamedWithWhatToDo) {
  if (test::dies_without_memory) GTEST_SKIP() << test::why_it_dies;
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto start_without_memory = [] {
    const rlimit nothing{1 << 20, 1 << 20};  // less than the process has: no stack for a thread
    setrlimit(RLIMIT_AS, &nothing);
    try {
      PlacedThread thread({}, [] {});
    } catch (const FatalError& error) {
      std::fputs(error.what(), stderr);
      std::_Exit(error.exit_code() == ExitCode::runtime_failure ? 1 : 0);
    }
    std::_Exit(0);
  };
  EXPECT_EXIT(start_without_memory(), testing::ExitedWithCode(1), "a thread cannot be started .*ulimit -v");
}
#endif

}  // namespace
}  // namespace ccl
