#include "parse/part_threads.hpp"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>

namespace ccl {

class PartThreads::Reader final : public PartExchange, public Progress {
 public:
  Reader(ReadOptions options, const Progress& progress, const Processors& processors, const ReadPart& read_part)
      : progress_(progress) {
    options.parts = this;
    thread_.emplace(processors, [this, options = std::move(options), read_part] {
      try {
        read_part(options, *this);
      } catch (...) {
        thrown_ = std::current_exception();
      }
      const std::lock_guard lock(mutex_);
      over_ = true;
      changed_.notify_all();
    });
  }

  /// Nobody takes anything more. The thread uses this object until it has ended.
  void leave() {
    {
      const std::lock_guard lock(mutex_);
      abandoned_ = true;
      changed_.notify_all();
    }
    wait();
  }

  void give(Bytes parcel) override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return abandoned_ || waiting_bytes_ < enough_bytes; });
    waiting_bytes_ += parcel.size();
    parcels_.push_back(std::move(parcel));
    changed_.notify_all();
  }
  /// Nothing when the thread gave up.
  Bytes take(int /*number*/) override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return over_ || !parcels_.empty(); });
    if (parcels_.empty()) return {};
    Bytes parcel = std::move(parcels_.front());
    parcels_.pop_front();
    waiting_bytes_ -= parcel.size();
    changed_.notify_all();
    return parcel;
  }
  std::exception_ptr wait() {
    thread_->join();
    return thrown_;
  }

  void add_bytes(std::int64_t bytes) override { read_bytes_ += bytes; }
  bool stop_requested() const override { return progress_.stop_requested(); }
  std::int64_t take_read_bytes() { return read_bytes_.exchange(0); }

 private:
  static constexpr std::size_t enough_bytes = std::size_t{2} << 20;  // then the thread waits: it is a range or two ahead
  const Progress& progress_;
  std::atomic<std::int64_t> read_bytes_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Bytes> parcels_;
  std::size_t waiting_bytes_ = 0;  // of them
  bool over_ = false, abandoned_ = false;  // the thread gives nothing more, nobody takes anything more
  std::exception_ptr thrown_;  // read when the thread has ended
  std::optional<PlacedThread> thread_;  // last: starts when all else is there
};

void PartThreads::Leave::operator()(Reader* reader) const {
  reader->leave();
  delete reader;
}

PartThreads::PartThreads(const ReadOptions& options, Progress& progress, const ReadPart& read_part)
    : elsewhere_(*options.parts), progress_(progress), readers_(static_cast<std::size_t>(options.part.count)) {
  for (std::size_t i = 0; i < options.lent.parts.size(); ++i) {
    ReadOptions of_part = options;
    of_part.part.number = options.lent.parts[i];
    auto& reader = readers_[static_cast<std::size_t>(of_part.part.number)];
    reader.reset(new Reader(std::move(of_part), progress, options.lent.processors[i], read_part));
  }
}

PartThreads::~PartThreads() = default;

Bytes PartThreads::take(int number) {
  Reader* const reader = readers_[static_cast<std::size_t>(number)].get();
  if (reader == nullptr) return elsewhere_.take(number);
  Bytes parcel = reader->take(number);
  if (const std::int64_t bytes = reader->take_read_bytes(); bytes > 0) progress_.add_bytes(bytes);
  return parcel;
}

void PartThreads::finish() {
  std::exception_ptr first;
  for (const auto& reader : readers_)
    if (const std::exception_ptr thrown = reader ? reader->wait() : nullptr; thrown && !first) first = thrown;
  if (first) std::rethrow_exception(first);
}

}  // namespace ccl
