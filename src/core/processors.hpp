// The processors a thread may run on, and work done on several of them at once.
#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/bytes.hpp"

namespace ccl {

/// A set of processors as the system writes it; empty where it tells none.
using Processors = Bytes;

/// Those of the calling thread.
Processors own_processors();
/// How many there are in all of the sets together; 0 where one of them is not known.
std::size_t processors_count(std::span<const Processors> sets);
/// Whether a thread of this process may run on them.
bool can_run_on(const Processors& processors);

/// A thread that runs there from its first instruction; where it may not, or there is no such set, it runs where the
/// calling thread may. The system's threads are kept, asleep, for the next of the same processors: starting one takes as
/// long as small work. FatalError: the system starts none.
class PlacedThread {
 public:
  /// body throws nothing.
  PlacedThread(const Processors& processors, std::function<void()> body);
  PlacedThread(const PlacedThread&) = delete;
  PlacedThread& operator=(const PlacedThread&) = delete;
  ~PlacedThread();
  /// Returns when body has ended.
  void join();

 private:
  class Kept;
  class Asleep;
  static Asleep& asleep();
  std::unique_ptr<Kept> kept_;  // null: has ended
};

/// Runs all tasks, on the calling thread, which begins with the first, and one more for each of the lent sets of processors, each
/// task on the next thread that is free. Where a thread is at work already (a task of it runs tasks of its own) it helps when its
/// work has ended. With nothing lent they run one after the other in their order. Throws what the first task in this order threw,
/// when all have ended.
void side_by_side(std::span<const Processors> lent, const std::vector<std::function<void()>>& tasks);

}  // namespace ccl
