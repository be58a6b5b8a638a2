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
#include <iterator>
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

namespace {

/// Tasks of one side_by_side(), for all threads that help with it.
class Batch {
 public:
  explicit Batch(const std::vector<std::function<void()>>& tasks) : tasks_(tasks), thrown_(tasks.size()) {}
  /// Of the thread that has them run: the first task is always its own.
  void lead() {
    if (!tasks_.empty()) run(0);
    work();
  }
  void work() {
    for (std::size_t task = next_++; task < tasks_.size(); task = next_++) run(task);
  }
  void rethrow_first() const {
    for (const std::exception_ptr& one : thrown_)
      if (one) std::rethrow_exception(one);
  }

 private:
  void run(std::size_t task) {
    try {
      tasks_[task]();
    } catch (...) {
      thrown_[task] = std::current_exception();
    }
  }

  const std::vector<std::function<void()>>& tasks_;
  std::vector<std::exception_ptr> thrown_;
  std::atomic<std::size_t> next_ = 1;
};

/// Who works where, and what is left for those whose own work ends first.
class Helpers {
 public:
  void begin(const Processors& processors) {
    const std::lock_guard lock(mutex_);
    at_work_.push_back(&processors);
  }
  /// Helps with what was offered to these processors, then nobody is at work there.
  void end(const Processors& processors) {
    std::unique_lock lock(mutex_);
    for (;;) {
      const auto offer = std::find_if(offers_.begin(), offers_.end(), [&](const Offer& one) { return *one.to == processors; });
      if (offer == offers_.end()) break;
      Batch* const batch = offer->batch;
      offers_.erase(offer);
      inside_.push_back(batch);
      lock.unlock();
      batch->work();
      lock.lock();
      inside_.erase(std::find(inside_.begin(), inside_.end(), batch));
      changed_.notify_all();
    }
    at_work_.erase(std::find(at_work_.begin(), at_work_.end(), &processors));
  }
  /// Of these sets up to `most` on which nobody is at work, one set for each thread; if they are fewer, others are offered
  /// the batch.
  std::vector<const Processors*> idle_of(std::span<const Processors> sets, std::size_t most, Batch& batch) {
    std::vector<const Processors*> idle, busy;
    const std::lock_guard lock(mutex_);
    std::vector<const Processors*> taken = at_work_;
    for (const Processors& set : sets) {
      const auto found = std::find_if(taken.begin(), taken.end(), [&](const Processors* one) { return *one == set; });
      if (found == taken.end()) {
        if (idle.size() < most) idle.push_back(&set);
      } else {
        taken.erase(found);
        busy.push_back(&set);
      }
    }
    for (std::size_t i = 0; i < busy.size() && idle.size() + i < most; ++i) offers_.push_back({busy[i], &batch});
    return idle;
  }
  /// Nobody begins with it any more; waits for who has.
  void withdraw(const Batch& batch) {
    std::unique_lock lock(mutex_);
    std::erase_if(offers_, [&](const Offer& one) { return one.batch == &batch; });
    changed_.wait(lock, [&] { return std::find(inside_.begin(), inside_.end(), &batch) == inside_.end(); });
  }

 private:
  struct Offer {
    const Processors* to;
    Batch* batch;
  };
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<const Processors*> at_work_;
  std::vector<Offer> offers_;
  std::vector<const Batch*> inside_;  // once for each thread that helps
};

Helpers& helpers() {
  static Helpers all;
  return all;
}

}  // namespace

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
    if (body) helpers().begin(processors_);
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
      helpers().end(processors_);
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
    const auto last = std::find_if(kept_.rbegin(), kept_.rend(), [&](const auto& one) { return one->processors() == processors; });
    if (last == kept_.rend()) return nullptr;
    std::unique_ptr<Kept> kept = std::move(*last);
    kept_.erase(std::next(last).base());
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
  Batch batch(tasks);
  if (lent.empty() || tasks.size() < 2) {
    batch.lead();
    return batch.rethrow_first();
  }
  {
    struct Offered {
      const Batch& batch;
      ~Offered() { helpers().withdraw(batch); }
    };
    const Offered offered{batch};
    std::deque<PlacedThread> threads;
    try {
      for (const Processors* set : helpers().idle_of(lent, tasks.size() - 1, batch))
        threads.emplace_back(*set, [&batch] { batch.work(); });
    } catch (const FatalError&) {
      // Those that were started do it.
    }
    batch.lead();
  }
  batch.rethrow_first();
}

}  // namespace ccl
