#include "core/processors.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <deque>
#include <exception>
#include <system_error>
#include <utility>

#include "core/problems.hpp"

namespace ccl {

Processors own_processors() {
#ifdef __linux__
  constexpr std::size_t room = 1024;  // of 8192 processors; what has more is told as nothing
  Processors processors(room);
  if (sched_getaffinity(0, room, reinterpret_cast<cpu_set_t*>(processors.data())) == 0) return processors;
#endif
  return {};
}

std::size_t processors_count(std::span<const Processors> sets) {
  Processors all;
  for (const Processors& set : sets) {
    if (set.empty()) return 0;
    all.resize(std::max(all.size(), set.size()));
    for (std::size_t i = 0; i < set.size(); ++i) all[i] |= set[i];
  }
  std::size_t count = 0;
  for (const std::byte eight : all) count += static_cast<std::size_t>(std::popcount(std::to_integer<unsigned char>(eight)));
  return count;
}

bool can_run_on([[maybe_unused]] const Processors& processors) {
#ifdef __linux__
  const auto run_on = [](const Processors& these) {
    return !these.empty() && sched_setaffinity(0, these.size(), reinterpret_cast<const cpu_set_t*>(these.data())) == 0;
  };
  const Processors own = own_processors();
  const bool can = run_on(processors);
  return run_on(own) && can;
#else
  return false;
#endif
}

// A thread that moved itself there would first have to wait for the processor of who made it.
PlacedThread::PlacedThread([[maybe_unused]] const Processors& processors, std::function<void()> body)
    : body_(std::move(body)) {
  const auto run = [](void* thread) -> void* {
    static_cast<PlacedThread*>(thread)->body_();
    return nullptr;
  };
  int failed = EINVAL;
#ifdef __linux__
  pthread_attr_t placed;
  pthread_attr_init(&placed);
  if (!processors.empty() &&
      pthread_attr_setaffinity_np(&placed, processors.size(), reinterpret_cast<const cpu_set_t*>(processors.data())) == 0)
    failed = pthread_create(&thread_, &placed, run, this);
  pthread_attr_destroy(&placed);
#endif
  if (failed != 0) failed = pthread_create(&thread_, nullptr, run, this);
  if (failed == 0) {
    runs_ = true;
    return;
  }
  throw FatalError(ExitCode::runtime_failure, "a thread cannot be started (" + std::generic_category().message(failed) +
                                                  "). Allow more memory or more processes (ulimit -v, ulimit -u).");
}

void PlacedThread::join() {
  if (runs_) pthread_join(thread_, nullptr);
  runs_ = false;
}

void side_by_side(std::span<const Processors> lent, const std::vector<std::function<void()>>& tasks) {
  std::vector<std::exception_ptr> thrown(tasks.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t task = next++; task < tasks.size(); task = next++) {
      try {
        tasks[task]();
      } catch (...) {
        thrown[task] = std::current_exception();
      }
    }
  };
  std::deque<PlacedThread> threads;
  try {
    for (std::size_t i = 0; i < lent.size() && i + 1 < tasks.size(); ++i) threads.emplace_back(lent[i], work);
  } catch (const FatalError&) {
    // Those that were started do it.
  }
  work();
  threads.clear();  // joins
  for (const std::exception_ptr& one : thrown)
    if (one) std::rethrow_exception(one);
}

}  // namespace ccl
