#include <zlib.h>

#include <algorithm>
#include <limits>
#include <new>

#include "parse/inflate.hpp"

namespace ccl {
namespace {

class ZlibInflater final : public Inflater {
 public:
  ZlibInflater() {
    if (inflateInit2(&stream_, 16 + MAX_WBITS) != Z_OK) throw std::bad_alloc();
  }
  ~ZlibInflater() override { inflateEnd(&stream_); }
  ZlibInflater(const ZlibInflater&) = delete;
  ZlibInflater& operator=(const ZlibInflater&) = delete;

  void restart() override { inflateReset(&stream_); }

  InflateStep step(const char* in, std::size_t in_size, char* out, std::size_t out_size) override {
    constexpr std::size_t most = std::numeric_limits<uInt>::max();
    const auto in_now = static_cast<uInt>(std::min(in_size, most));
    const auto out_now = static_cast<uInt>(std::min(out_size, most));
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in));
    stream_.avail_in = in_now;
    stream_.next_out = reinterpret_cast<Bytef*>(out);
    stream_.avail_out = out_now;
    const int code = ::inflate(&stream_, Z_NO_FLUSH);
    InflateStep result;
    result.consumed = in_now - stream_.avail_in;
    result.produced = out_now - stream_.avail_out;
    if (code == Z_STREAM_END)
      result.status = InflateStatus::member_end;
    else if (code != Z_OK && code != Z_BUF_ERROR)
      result.status = InflateStatus::damaged;
    return result;
  }

 private:
  z_stream stream_{};
};

}  // namespace

std::unique_ptr<Inflater> make_zlib_inflater() { return std::make_unique<ZlibInflater>(); }

#if !defined(CCL_HAVE_ISAL)
std::unique_ptr<Inflater> make_isal_inflater() { return nullptr; }

MemberText text_of_member(const char* text, std::size_t size) {
  return {static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(text), size)),
          static_cast<std::uint32_t>(size)};
}
#endif

void TextCheck::add(const MemberText& piece) {
  if (text_.crc != 0)  // of 0 nothing is left to move up
    text_.crc = static_cast<std::uint32_t>(crc32_combine(text_.crc, 0, static_cast<z_off_t>(piece.bytes)));
  text_.crc ^= piece.crc;
  text_.bytes += piece.bytes;
}

bool TextCheck::ends_as(const MemberText& stated) {
  const bool same = text_.crc == stated.crc && text_.bytes == stated.bytes;
  text_ = {};
  return same;
}

std::unique_ptr<Inflater> make_inflater(InflateBackend backend) {
  if (backend == InflateBackend::zlib) return make_zlib_inflater();
  std::unique_ptr<Inflater> fast = make_isal_inflater();
  if (fast == nullptr && backend == InflateBackend::best) return make_zlib_inflater();
  return fast;
}

}  // namespace ccl
