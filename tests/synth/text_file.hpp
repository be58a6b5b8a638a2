// A text file written through one fixed buffer, plain or gzip, with fast integers and microseconds.
#pragma once
#include <zlib.h>

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

namespace synth {

/// A time in ns, written as decimal microseconds: three decimals, or none.
struct Microseconds {
  std::int64_t ns;
  bool whole;
};

class TextFile {
 public:
  /// Throws std::runtime_error if the file can not be made. limit_bytes ≥ 0: what comes after is dropped (a cut file).
  TextFile(const std::string& path, bool gzip, std::int64_t limit_bytes = -1);
  /// Counts, writes nothing.
  TextFile();
  ~TextFile();
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;

  /// Throws std::runtime_error on a full disk.
  void close();
  std::int64_t bytes() const { return flushed_ + static_cast<std::int64_t>(used_); }

  TextFile& operator<<(std::string_view text) {
    if (text.size() > capacity - used_) return append_long(text);
    std::memcpy(buffer_.get() + used_, text.data(), text.size());
    used_ += text.size();
    return *this;
  }
  TextFile& operator<<(char c) { return *this << std::string_view(&c, 1); }
  TextFile& operator<<(std::int64_t value) {
    make_room(24);
    used_ = static_cast<std::size_t>(std::to_chars(buffer_.get() + used_, buffer_.get() + capacity, value).ptr -
                                     buffer_.get());
    return *this;
  }
  TextFile& operator<<(int value) { return *this << std::int64_t{value}; }
  TextFile& operator<<(std::size_t value) { return *this << static_cast<std::int64_t>(value); }
  TextFile& operator<<(Microseconds time);

 private:
  static constexpr std::size_t capacity = std::size_t{1} << 20;
  void make_room(std::size_t count) {
    if (capacity - used_ < count) flush();
  }
  TextFile& append_long(std::string_view text);
  void flush();

  std::unique_ptr<char[]> buffer_;
  std::size_t used_ = 0;
  std::int64_t flushed_ = 0, limit_ = -1;
  std::FILE* plain_ = nullptr;
  gzFile gzip_ = nullptr;
};

}  // namespace synth
