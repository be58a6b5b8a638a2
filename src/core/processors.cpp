#include "core/processors.hpp"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
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

/// A thread of the system, which runs one body after the other.
class PlacedThread::Kept {
 public:
  explicit Kept(const Processors& processors) : processors_(processors) {
    const auto run = [](void* kept) -> void* {
      static_cast<Kept*>(kept)->run_bodies();
      return nullptr;
    };
    int failed = EINVAL;
#ifdef __linux__
    // A thread that moved itself there would first have to wait for the processor of who made it.
    pthread_attr_t placed;
    pthread_attr_init(&placed);
    if (!processors.empty() &&
        pthread_attr_setaffinity_np(&placed, processors.size(), reinterpret_cast<const cpu_set_t*>(processors.data())) == 0)
      failed = pthread_create(&thread_, &placed, run, this);
    pthread_attr_destroy(&placed);
#endif
    if (failed != 0) failed = pthread_create(&thread_, nullptr, run, this);
    if (failed != 0)
      throw FatalError(ExitCode::runtime_failure, "a thread cannot be started (" + std::generic_category().message(failed) +
                                                      "). Allow more memory or more processes (ulimit -v, ulimit -u).");
  }
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;
  ~Kept() {
    start({});
    pthread_join(thread_, nullptr);
  }

  const Processors& processors() const { return processors_; }
  /// Nothing to run: the thread ends.
  void start(std::function<void()> body) {
    const std::lock_guard lock(mutex_);
    body_ = std::move(body);
    runs_ = true;
    changed_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !runs_; });
  }

 private:
  void run_bodies() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return runs_; });
      const std::function<void()> body = std::exchange(body_, {});
      if (!body) return;
      lock.unlock();
      body();
      lock.lock();
      runs_ = false;
      changed_.notify_all();
    }
  }

  const Processors processors_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> body_;
  bool runs_ = false;
  pthread_t thread_{};
};

/// Those of this process that run nothing.
class PlacedThread::Asleep {
 public:
  /// Null: none has these processors.
  std::unique_ptr<Kept> take(const Processors& processors) {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(kept_.begin(), kept_.end(), [&](const auto& one) { return one->processors() == processors; });
    if (found == kept_.end()) return nullptr;
    std::unique_ptr<Kept> kept = std::move(*found);
    kept_.erase(found);
    return kept;
  }
  std::unique_ptr<Kept> make(const Processors& processors) {
    {
      const std::lock_guard lock(mutex_);
      kept_.reserve(++made_count_);  // then add() needs no memory
    }
    return std::make_unique<Kept>(processors);
  }
  void add(std::unique_ptr<Kept> kept) {
    const std::lock_guard lock(mutex_);
    kept_.push_back(std::move(kept));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Kept>> kept_;
  std::size_t made_count_ = 0;
};

PlacedThread::Asleep& PlacedThread::asleep() {
  static Asleep all;
  return all;
}

PlacedThread::PlacedThread(const Processors& processors, std::function<void()> body) {
  const Processors where = processors.empty() ? own_processors() : processors;
  kept_ = asleep().take(where);
  if (!kept_) kept_ = asleep().make(where);
  kept_->start(std::move(body));
}

PlacedThread::~PlacedThread() { join(); }

void PlacedThread::join() {
  if (!kept_) return;
  kept_->wait();
  asleep().add(std::move(kept_));
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
