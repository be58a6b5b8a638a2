#include "parse/byte_source.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

namespace ccl {

WindowMemory::~WindowMemory() {
  if (data_ != nullptr) munmap(data_, mapped_);
}

void WindowMemory::reserve(std::size_t bytes) {
  if (bytes <= capacity_) return;
  constexpr std::size_t page = 4096;
  const std::size_t wanted = (bytes + padding_bytes + page - 1) / page * page;
  void* moved = data_ == nullptr ? mmap(nullptr, wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                                 : mremap(data_, mapped_, wanted, MREMAP_MAYMOVE);
  if (moved == MAP_FAILED) throw std::bad_alloc();
  madvise(moved, wanted, MADV_HUGEPAGE);  // advice only: failure costs speed
  data_ = static_cast<char*>(moved);
  mapped_ = wanted;
  capacity_ = wanted - padding_bytes;
}

std::int64_t read_fully(int fd, char* to, std::size_t bytes) {
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t got = ::read(fd, to + done, bytes - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -1;
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return static_cast<std::int64_t>(done);
}

namespace {

class FailedSource final : public ByteSource {
 public:
  explicit FailedSource(int error_number) {
    status_ = SourceStatus::unreadable;
    error_ = std::strerror(error_number);
  }
  bool next(std::size_t) override { return false; }
};

class FileSource final : public ByteSource {
 public:
  FileSource(int fd, std::size_t window_bytes, SourceMemory& memory, FileRange range)
      : fd_(fd), window_bytes_(std::min(window_bytes, std::size_t{plain_window_bytes})), left_bytes_(range.end - range.begin),
        memory_(memory.windows[0]) {
    if (range.begin > 0 && ::lseek(fd, range.begin, SEEK_SET) < 0) {
      status_ = SourceStatus::unreadable;
      error_ = std::strerror(errno);
    }
  }
  ~FileSource() override { ::close(fd_); }
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;

  bool next(std::size_t keep_bytes) override {
    // A long event doubles the window until it fits: reading it costs no more than twice its length.
    const std::size_t wanted = std::max(window_bytes_, keep_bytes);
    memory_.reserve(keep_bytes + wanted);
    char* const front = memory_.data();
    if (keep_bytes > 0) std::memmove(front, front + (size_ - keep_bytes), keep_bytes);
    window_ = front;
    size_ = keep_bytes;
    if (status_ != SourceStatus::more) return false;
    const auto most = static_cast<std::size_t>(std::min<std::int64_t>(static_cast<std::int64_t>(wanted), left_bytes_));
    const std::int64_t got = read_fully(fd_, front + keep_bytes, most);
    if (got < 0) {
      status_ = SourceStatus::unreadable;
      error_ = std::strerror(errno);
      return false;
    }
    if (got == 0) {
      status_ = SourceStatus::end;
      return false;
    }
    file_bytes_ += got;
    left_bytes_ -= got;
    size_ += static_cast<std::size_t>(got);
    return true;
  }

 private:
  int fd_;
  std::size_t window_bytes_;
  std::int64_t left_bytes_;
  WindowMemory& memory_;
};

}  // namespace

std::unique_ptr<ByteSource> make_file_source(int fd, std::size_t window_bytes, SourceMemory& memory,
                                             FileRange range) {
  return std::make_unique<FileSource>(fd, window_bytes, memory, range);
}

std::unique_ptr<ByteSource> open_range(const std::string& path, FileRange range, std::size_t window_bytes,
                                       SourceMemory& memory) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::make_unique<FailedSource>(errno);
  posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
  return make_file_source(fd, window_bytes, memory, range);
}

std::unique_ptr<ByteSource> open_source(const std::string& path, std::size_t window_bytes, SourceMemory& memory,
                                        std::int64_t inflate_limit, InflateBackend backend) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::make_unique<FailedSource>(errno);
  posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
  unsigned char magic[2] = {0, 0};
  const ssize_t got = ::pread(fd, magic, sizeof magic, 0);
  if (got < 0) {
    const int error_number = errno;
    ::close(fd);
    return std::make_unique<FailedSource>(error_number);
  }
  if (got == 2 && magic[0] == 0x1f && magic[1] == 0x8b)
    return make_gzip_source(fd, window_bytes, memory, inflate_limit, make_inflater(backend));
  return make_file_source(fd, window_bytes, memory);
}

}  // namespace ccl
