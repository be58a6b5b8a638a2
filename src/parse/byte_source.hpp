// The bytes of a trace file, decompressed, in windows that are reused. In: a path. Out: windows of text; what the
// caller has not used up yet stands at the front of the next one. Memory: one window (gzip: three, and a second thread
// that inflates ahead of the caller), however long the file.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "parse/inflate.hpp"

namespace ccl {

/// Text memory with room behind its end for the wide loads of the scanners. Grows, never shrinks.
class WindowMemory {
 public:
  static constexpr std::size_t padding_bytes = 64;
  ~WindowMemory();
  WindowMemory() = default;
  WindowMemory(const WindowMemory&) = delete;
  WindowMemory& operator=(const WindowMemory&) = delete;

  /// At least that many bytes; what is there survives.
  void reserve(std::size_t bytes);
  char* data() { return data_; }
  std::size_t capacity() const { return capacity_; }

 private:
  char* data_ = nullptr;
  std::size_t capacity_ = 0;
  std::size_t mapped_ = 0;
};

enum class SourceStatus : std::uint8_t {
  more,
  end,         // the file ended where it should
  gzip_cut,    // the compressed data ended early or is damaged
  too_large,   // the compressed data holds more text than the limit allows
  unreadable   // the system could not open or read it; see error()
};

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Puts the last keep_bytes of the present window and then new text into a window. False if there was no new text:
  /// status() says why, and the window holds just the kept bytes.
  virtual bool next(std::size_t keep_bytes) = 0;

  const char* window() const { return window_; }
  std::size_t size() const { return size_; }
  SourceStatus status() const { return status_; }
  const std::string& error() const { return error_; }
  /// Bytes of the file used for the windows so far.
  std::int64_t file_bytes() const { return file_bytes_; }
  /// Bytes behind the compressed data that are not gzip.
  std::int64_t trailing_bytes() const { return trailing_bytes_; }

 protected:
  char* window_ = nullptr;
  std::size_t size_ = 0;
  SourceStatus status_ = SourceStatus::more;
  std::string error_;
  std::int64_t file_bytes_ = 0;
  std::int64_t trailing_bytes_ = 0;
};

/// The memory behind the windows, kept from file to file.
struct SourceMemory {
  static constexpr std::size_t window_count = 3;
  WindowMemory windows[window_count];
  std::vector<char> compressed, inflated;
};

/// Text that a gzip file may always hold, whatever its size: a file made to exhaust costs no more than this.
inline constexpr std::int64_t unlimited_text_bytes = std::int64_t{256} << 20;

inline constexpr const char* inflate_limit_text = "more text than --inflate-limit allows a file of this size";

/// What a window holds at most, however much is asked for. Plain text, copied out of the page cache, is looked at, twice,
/// while it is still in the second-level cache. Of gzip there are three windows: what is handed over still lies in the
/// caches, and the first touch of three costs little.
inline constexpr std::int64_t plain_window_bytes = std::int64_t{512} << 10, gzip_window_bytes = std::int64_t{2} << 20;
/// What readers ask for: the source's own.
inline constexpr std::int64_t largest_window_bytes = gzip_window_bytes;

/// Opens the file; gzip is recognised by its first two bytes. Never null: what fails shows in status(). A gzip file ends
/// as too_large where its text is above unlimited_text_bytes and inflate_limit times the bytes read (0: never).
std::unique_ptr<ByteSource> open_source(const std::string& path, std::size_t window_bytes, SourceMemory& memory,
                                        std::int64_t inflate_limit, InflateBackend backend = InflateBackend::best);

/// Bytes [begin, end) of a file.
struct FileRange {
  std::int64_t begin = 0, end = INT64_MAX;
};

/// The same of a part of a file that is not compressed.
std::unique_ptr<ByteSource> open_range(const std::string& path, FileRange range, std::size_t window_bytes,
                                       SourceMemory& memory);

/// Parts of open_source. fd is owned by the source from then on.
std::unique_ptr<ByteSource> make_file_source(int fd, std::size_t window_bytes, SourceMemory& memory,
                                             FileRange range = {});
std::unique_ptr<ByteSource> make_gzip_source(int fd, std::size_t window_bytes, SourceMemory& memory,
                                             std::int64_t inflate_limit, std::unique_ptr<Inflater> inflater);
/// read(2) until the buffer is full or the file ends; −1 on an error (errno says which).
std::int64_t read_fully(int fd, char* to, std::size_t bytes);

}  // namespace ccl
