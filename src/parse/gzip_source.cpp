#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <optional>
#include <vector>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "core/process_time.hpp"
#include "core/processors.hpp"
#include "parse/byte_source.hpp"

namespace ccl {
namespace {

constexpr std::size_t compressed_bytes = std::size_t{256} << 10;
// of one step: stays in the cache of the inflating thread beside the copy of it
constexpr std::size_t direct_bytes = std::size_t{512} << 10, inflated_bytes = std::size_t{128} << 10;

/// Copies past the caches.
void copy_past_caches(char* to, const char* from, std::size_t size) {
#if defined(__SSE2__)
  constexpr std::size_t line = 64, part = sizeof(__m128i);
  const std::size_t head = std::min(size, (line - reinterpret_cast<std::uintptr_t>(to) % line) % line);
  std::memcpy(to, from, head);
  to += head, from += head, size -= head;
  for (; size >= line; to += line, from += line, size -= line)
    for (std::size_t at = 0; at < line; at += part)
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + at), _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at)));
  _mm_sfence();
#endif
  std::memcpy(to, from, size);
}

/// How text gets into a window: inflated straight into it, or beside it and copied past the caches. The reader's processor
/// still holds what the window had before. Where the two processors share no cache, taking each line back from it for an
/// ordinary store costs more than inflating; where they do, the copy is what costs. Virtual machines do not tell, and move
/// their processors, so both ways are timed now and then, and the faster one is kept until the next time.
class FillWay {
 public:
  bool direct() const { return windows_ < timed_end ? windows_ / 2 % 2 == 0 : direct_; }
  /// A window that was filled in the way of direct(), in CPU time of this thread.
  void filled(std::size_t bytes, double cpu_s) {
    if (windows_ >= timed_begin && windows_ < timed_end && bytes > 0)
      (direct() ? direct_s_ : copied_s_) += cpu_s / static_cast<double>(bytes);
    if (++windows_ == timed_end) direct_ = direct_s_ <= copied_s_;
    if (windows_ < timed_again) return;
    windows_ = timed_begin;
    direct_s_ = copied_s_ = 0;
  }

 private:
  static constexpr std::size_t timed_begin = 4, timed_end = timed_begin + 4, timed_again = timed_end + 128;
  static_assert(timed_begin >= SourceMemory::window_count && timed_begin % 4 == 0);  // before: first touch of the windows
  std::size_t windows_ = 0;
  bool direct_ = true;
  double direct_s_ = 0, copied_s_ = 0;  // a byte, summed over windows
};

/// What the inflating thread has put into one window memory, from `front` on. The bytes before are room for what the
/// reader kept of the window before, so that windows are never copied.
struct Filled {
  struct Piece {
    std::size_t end = 0;  // of its text in the window
    std::int64_t file_bytes = 0;
    std::optional<MemberText> stated;  // if a member ends with it
    MemberText text;
  };
  std::size_t size = 0;
  std::int64_t file_bytes = 0, trailing_bytes = 0;
  SourceStatus status = SourceStatus::more;
  std::string error;
  std::vector<Piece> pieces;  // of members, if they are to be checked
  bool worked_out = false;    // the text of them

  void work_out(const char* window) {
    std::size_t begin = 0;
    for (Piece& piece : pieces) {
      piece.text = text_of_member(window + begin, piece.end - begin);
      begin = piece.end;
    }
    worked_out = true;
  }
};

/// Window memories go round: the thread fills one while the reader works in another. A third lies between them, so that
/// the thread does not wait for the reader to wake up.
class GzipSource final : public ByteSource {
 public:
  GzipSource(int fd, std::size_t window_bytes, SourceMemory& memory, std::int64_t inflate_limit,
             std::unique_ptr<Inflater> inflater)
      : fd_(fd), window_bytes_(std::min(window_bytes, std::size_t{gzip_window_bytes})),
        room_(std::max<std::size_t>(4096, window_bytes_ / 4)), memory_(memory), inflate_limit_(inflate_limit),
        inflater_(std::move(inflater)) {
    memory_.compressed.resize(compressed_bytes);
    memory_.inflated.resize(inflated_bytes);
    for (WindowMemory& window : memory_.windows) window.reserve(room_ + window_bytes_);
    thread_.emplace(Processors(), [this] { inflate_all(); });
  }
  ~GzipSource() override {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    thread_->join();
    ::close(fd_);
  }
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;

  bool next(std::size_t keep_bytes) override {
    const char* const kept = window_ + (size_ - keep_bytes);
    if (status_ != SourceStatus::more) {
      window_ += size_ - keep_bytes;
      size_ = keep_bytes;
      return false;
    }
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return taken_ < ready_; });
    lock.unlock();
    WindowMemory& fresh = memory_.windows[taken_ % windows];
    Filled& filled = filled_[taken_ % windows];
    if (!filled.worked_out) filled.work_out(fresh.data() + room_);
    check(filled);
    std::size_t front = room_;
    if (keep_bytes > room_) {  // an event larger than the room: this one window moves up
      fresh.reserve(keep_bytes + filled.size);
      std::memmove(fresh.data() + keep_bytes, fresh.data() + front, filled.size);
      front = keep_bytes;
    }
    window_ = fresh.data() + front - keep_bytes;
    if (keep_bytes > 0) std::memcpy(window_, kept, keep_bytes);
    size_ = keep_bytes + filled.size;
    file_bytes_ = filled.file_bytes;
    trailing_bytes_ = filled.trailing_bytes;
    status_ = filled.status;
    error_ = filled.error;
    const bool any = filled.size > 0;
    lock.lock();
    ++taken_;
    lock.unlock();
    changed_.notify_all();
    return any;
  }

 private:
  void inflate_all() {
    while (true) {
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return stop_ || ready_ - taken_ + 1 < windows; });
        if (stop_) return;
      }
      const double began_s = thread_cpu_seconds();
      char* const window = memory_.windows[ready_ % windows].data() + room_;
      Filled& filled = filled_[ready_ % windows];
      filled = fill(window);
      way_.filled(filled.size, thread_cpu_seconds() - began_s);
      if (reader_is_late()) filled.work_out(window);
      const bool over = filled.status != SourceStatus::more;
      {
        const std::lock_guard lock(mutex_);
        ++ready_;
      }
      changed_.notify_all();
      if (over) return;
    }
  }

  /// It has a window still to come: what the checksums of this one take would be waited for, so they are worked out here.
  /// Otherwise the reader waits, and does it.
  bool reader_is_late() {
    const std::lock_guard lock(mutex_);
    return taken_ < ready_;
  }

  Filled fill(char* to) {
    Filled filled;
    const bool direct = way_.direct();
    const std::size_t step_bytes = direct ? direct_bytes : inflated_bytes;
    while (filled.size < window_bytes_ && filled.status == SourceStatus::more) {
      if (between_members_) {
        if (used_ == got_ && !read_more(filled)) break;
        if (!starts_member(filled)) break;
      }
      // Also without input: the inflater may hold back what had no room before.
      char* const inflated = direct ? to + filled.size : memory_.inflated.data();
      const InflateStep step = inflater_->step(memory_.compressed.data() + used_, got_ - used_, inflated,
                                               std::min(step_bytes, window_bytes_ - filled.size));
      if (!direct) copy_past_caches(to + filled.size, inflated, step.produced);
      used_ += step.consumed;
      filled.size += step.produced;
      if (step.status == InflateStatus::member_end) {
        between_members_ = true;
        if (inflater_->leaves_check()) filled.pieces.push_back({filled.size, file_bytes(), step.stated, {}});
      } else if (step.status == InflateStatus::damaged) {
        filled.status = SourceStatus::gzip_cut;
      } else if (step.consumed == 0 && step.produced == 0 && !read_more(filled)) {
        break;
      }
    }
    filled.file_bytes = file_bytes();
    if (inflater_->leaves_check()) filled.pieces.push_back({filled.size, filled.file_bytes, std::nullopt, {}});
    text_bytes_ += static_cast<std::int64_t>(filled.size);
    const bool too_large = inflate_limit_ > 0 && text_bytes_ > unlimited_text_bytes &&
                           text_bytes_ / inflate_limit_ > filled.file_bytes;
    if (too_large && filled.status == SourceStatus::more) filled.status = SourceStatus::too_large;
    return filled;
  }

  std::int64_t file_bytes() const { return read_bytes_ - static_cast<std::int64_t>(got_ - used_); }

  /// Damage ends the text behind the member.
  void check(Filled& filled) {
    for (const Filled::Piece& piece : filled.pieces) {
      check_.add(piece.text);
      if (!piece.stated.has_value() || check_.ends_as(*piece.stated)) continue;
      const bool more = filled.size > piece.end;
      filled.size = piece.end;
      filled.file_bytes = piece.file_bytes;
      filled.trailing_bytes = 0;
      filled.status = SourceStatus::gzip_cut;
      filled.error = more ? "the checksum of a part is wrong: the damage lies before its end, what follows is not read; copy the file again"
                          : "the checksum is wrong: the damage lies anywhere before its end; copy the file again";
      return;
    }
  }

  /// Appends compressed bytes behind the unused ones; at the end of the file sets the status and returns false.
  bool read_more(Filled& filled) {
    std::vector<char>& buffer = memory_.compressed;
    std::memmove(buffer.data(), buffer.data() + used_, got_ - used_);
    got_ -= used_;
    used_ = 0;
    const std::int64_t got = read_fully(fd_, buffer.data() + got_, buffer.size() - got_);
    if (got < 0) {
      filled.status = SourceStatus::unreadable;
      filled.error = std::strerror(errno);
      return false;
    }
    if (got == 0) {
      filled.status = between_members_ && got_ == 0 ? SourceStatus::end : SourceStatus::gzip_cut;
      return false;
    }
    got_ += static_cast<std::size_t>(got);
    read_bytes_ += got;
    return true;
  }

  /// Behind a member: another one, zeros that pad a tape or block, or bytes that are not gzip.
  bool starts_member(Filled& filled) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(memory_.compressed[used_ + i]); };
    if (got_ - used_ == 1 && byte(0) == 0x1f && first_member_done_) {
      if (!read_more(filled)) {
        if (filled.status == SourceStatus::gzip_cut) filled.status = SourceStatus::end;
        filled.trailing_bytes = 1;
        return false;
      }
    }
    if (!first_member_done_ || (got_ - used_ >= 2 && byte(0) == 0x1f && byte(1) == 0x8b)) {
      inflater_->restart();
      between_members_ = false;
      first_member_done_ = true;
      return true;
    }
    bool zeros = true;
    do {
      for (; used_ < got_; ++used_) {
        zeros = zeros && byte(0) == 0;
        if (!zeros) ++filled.trailing_bytes;
      }
    } while (read_more(filled));
    if (filled.status == SourceStatus::gzip_cut) filled.status = SourceStatus::end;
    return false;
  }

  int fd_;
  std::size_t window_bytes_, room_;
  SourceMemory& memory_;
  std::int64_t inflate_limit_;
  std::unique_ptr<Inflater> inflater_;

  // of the inflating thread
  std::size_t used_ = 0, got_ = 0;
  std::int64_t read_bytes_ = 0, text_bytes_ = 0;
  bool between_members_ = true, first_member_done_ = false;
  FillWay way_;

  TextCheck check_;  // of the reader

  // shared: numbers under mutex_, of `filled_` and the windows [taken_, ready_) of the reader, the next of the thread
  static constexpr std::size_t windows = SourceMemory::window_count;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t ready_ = 0, taken_ = 0;
  bool stop_ = false;
  Filled filled_[windows];
  std::optional<PlacedThread> thread_;  // last: starts when all else is there
};

}  // namespace

std::unique_ptr<ByteSource> make_gzip_source(int fd, std::size_t window_bytes, SourceMemory& memory,
                                             std::int64_t inflate_limit, std::unique_ptr<Inflater> inflater) {
  return std::make_unique<GzipSource>(fd, window_bytes, memory, inflate_limit, std::move(inflater));
}

}  // namespace ccl
