#include "parse/part_threads.hpp"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>

namespace ccl {

class PartThreads::Reader final : public PartGiver, public Progress {
 public:
  Reader(const ReadOptions& options, const Progress& progress, const Processors& processors, const ReadParts& read_parts)
      : progress_(progress) {
    thread_.emplace(processors, [this, options, read_parts] {
      try {
        read_parts(options, *this, *this);
      } catch (...) {
        thrown_ = std::current_exception();
      }
      // What is not needed any more goes here, while the first reader joins what is left.
      std::vector<OwnedPart> unused;
      const std::lock_guard lock(mutex_);
      over_ = true;
      unused.swap(free_);
      changed_.notify_all();
    });
  }

  /// Nobody takes anything more. Returns when the thread, which uses this object, has ended: what it threw.
  std::exception_ptr leave() {
    {
      const std::lock_guard lock(mutex_);
      abandoned_ = true;
      changed_.notify_all();
    }
    thread_->join();
    return thrown_;
  }

  OwnedPart give(OwnedPart part) override {
    const bool is_last = part->is_last;
    std::unique_lock lock(mutex_);
    parts_.push_back(std::move(part));
    changed_.notify_all();
    if (is_last) return nullptr;
    changed_.wait(lock, [&] { return abandoned_ || !free_.empty() || made_count_ < most_parts; });
    if (abandoned_ || free_.empty()) {
      ++made_count_;
      return std::make_unique<KinetoPart>();
    }
    part = std::move(free_.back());
    free_.pop_back();
    return part;
  }
  OwnedPart take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return over_ || !parts_.empty(); });
    if (parts_.empty()) return nullptr;
    OwnedPart part = std::move(parts_.front());
    parts_.pop_front();
    return part;
  }
  void give_back(OwnedPart part) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(part));
    changed_.notify_all();
  }

  void add_bytes(std::int64_t bytes) override { read_bytes_ += bytes; }
  bool stop_requested() const override { return abandoned_ || progress_.stop_requested(); }
  std::int64_t take_read_bytes() { return read_bytes_.exchange(0); }

 private:
  static constexpr int most_parts = 8;  // one is read, one is joined, the others wait
  const Progress& progress_;
  std::atomic<std::int64_t> read_bytes_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<OwnedPart> parts_;
  std::vector<OwnedPart> free_;
  int made_count_ = 1;  // the thread begins with one
  bool over_ = false;   // the thread gives nothing more
  std::atomic<bool> abandoned_ = false;  // nobody takes anything more
  std::exception_ptr thrown_;  // read when the thread has ended
  std::optional<PlacedThread> thread_;  // last: starts when all else is there
};

void PartThreads::Leave::operator()(Reader* reader) const {
  reader->leave();
  delete reader;
}

PartThreads::PartThreads(const ReadOptions& options, PartTaker& elsewhere, Progress& progress, const ReadParts& read_parts)
    : elsewhere_(elsewhere), progress_(progress), readers_(static_cast<std::size_t>(options.part.count)) {
  for (std::size_t i = 0; i < options.lent.processors.size(); ++i) {
    ReadOptions of_part = options;
    of_part.part.number = options.lent.parts[i];
    readers_[static_cast<std::size_t>(of_part.part.number)].reset(
        new Reader(of_part, progress, options.lent.processors[i], read_parts));
  }
}

PartThreads::~PartThreads() = default;

OwnedPart PartThreads::take(int reader) {
  Reader* const here = readers_[static_cast<std::size_t>(reader)].get();
  if (here == nullptr) return elsewhere_.take(reader);
  OwnedPart part = here->take();
  if (const std::int64_t bytes = here->take_read_bytes(); bytes > 0) progress_.add_bytes(bytes);
  return part;
}

void PartThreads::give_back(int reader, OwnedPart part) {
  Reader* const here = readers_[static_cast<std::size_t>(reader)].get();
  if (here == nullptr) return elsewhere_.give_back(reader, std::move(part));
  here->give_back(std::move(part));
}

void PartThreads::finish() {
  std::exception_ptr first;
  for (const auto& reader : readers_)
    if (const std::exception_ptr thrown = reader ? reader->leave() : nullptr; thrown && !first) first = thrown;
  if (first) std::rethrow_exception(first);
}

}  // namespace ccl
