#include "text_file.hpp"

#include <algorithm>
#include <stdexcept>

namespace synth {

TextFile::TextFile() : buffer_(new char[capacity]) {}

TextFile::TextFile(const std::string& path, bool gzip, std::int64_t limit_bytes)
    : buffer_(new char[capacity]), limit_(limit_bytes) {
  if (gzip)
    gzip_ = gzopen(path.c_str(), "wb4");
  else
    plain_ = std::fopen(path.c_str(), "wb");
  if (!gzip_ && !plain_) throw std::runtime_error("can not write " + path);
}

TextFile::~TextFile() {
  if (gzip_) gzclose(gzip_);
  if (plain_) std::fclose(plain_);
}

void TextFile::close() {
  flush();
  const bool good = (!gzip_ || gzclose(gzip_) == Z_OK) && (!plain_ || std::fclose(plain_) == 0);
  gzip_ = nullptr, plain_ = nullptr;
  if (!good) throw std::runtime_error("can not finish a file (disk full?)");
}

TextFile& TextFile::operator<<(Microseconds time) {
  *this << time.ns / 1000;
  if (time.whole) return *this;
  const auto rest = static_cast<int>(time.ns % 1000);
  const char digits[4] = {'.', static_cast<char>('0' + rest / 100), static_cast<char>('0' + rest / 10 % 10),
                          static_cast<char>('0' + rest % 10)};
  return *this << std::string_view(digits, 4);
}

TextFile& TextFile::append_long(std::string_view text) {
  while (!text.empty()) {
    if (used_ == capacity) flush();
    const std::size_t count = std::min(text.size(), capacity - used_);
    std::memcpy(buffer_.get() + used_, text.data(), count);
    used_ += count;
    text.remove_prefix(count);
  }
  return *this;
}

void TextFile::flush() {
  std::size_t count = used_;
  if (limit_ >= 0)
    count = static_cast<std::size_t>(std::clamp<std::int64_t>(limit_ - flushed_, 0, static_cast<std::int64_t>(used_)));
  bool good = true;
  if (gzip_ && count > 0) good = gzwrite(gzip_, buffer_.get(), static_cast<unsigned>(count)) == static_cast<int>(count);
  if (plain_) good = std::fwrite(buffer_.get(), 1, count, plain_) == count;
  if (!good) throw std::runtime_error("can not write a file (disk full?)");
  flushed_ += static_cast<std::int64_t>(used_);
  used_ = 0;
}

}  // namespace synth
