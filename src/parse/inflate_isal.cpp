#if defined(CCL_HAVE_ISAL)
#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>

#include <algorithm>
#include <limits>

#include "parse/inflate.hpp"

namespace ccl {
namespace {

/// Inflates without a look at the text; the end of a member is read here and handed on.
class IsalInflater final : public Inflater {
 public:
  IsalInflater() { restart(); }

  void restart() override {
    isal_inflate_init(&state_);
    isal_gzip_header_init(&header_);
    part_ = Part::header;
    end_ = 0;
    end_bytes_ = 0;
  }

  bool leaves_check() const override { return true; }

  InflateStep step(const char* in, std::size_t in_size, char* out, std::size_t out_size) override {
    constexpr std::size_t most = std::numeric_limits<std::uint32_t>::max();
    const auto in_now = static_cast<std::uint32_t>(std::min(in_size, most));
    const auto out_now = static_cast<std::uint32_t>(std::min(out_size, most));
    state_.next_in = reinterpret_cast<std::uint8_t*>(const_cast<char*>(in));
    state_.avail_in = in_now;
    state_.next_out = reinterpret_cast<std::uint8_t*>(out);
    state_.avail_out = out_now;
    InflateStep result;
    if (!advance(result)) result.status = InflateStatus::damaged;
    result.consumed = in_now - state_.avail_in;
    result.produced = out_now - state_.avail_out;
    return result;
  }

 private:
  enum class Part : std::uint8_t { header, text, end };

  /// As far as input and room go; false where it is damaged.
  bool advance(InflateStep& result) {
    if (part_ == Part::header) {
      const int code = isal_read_gzip_header(&state_, &header_);
      if (code == ISAL_END_INPUT) return true;
      if (code != ISAL_DECOMP_OK) return false;
      part_ = Part::text;
    }
    if (part_ == Part::text) {
      const int code = isal_inflate(&state_);
      if (code != ISAL_DECOMP_OK && code != ISAL_END_INPUT && code != ISAL_OUT_OVERFLOW) return false;
      if (state_.block_state != ISAL_BLOCK_FINISH) return true;
      take_bits();
      part_ = Part::end;
    }
    for (; end_bytes_ < end_size && state_.avail_in > 0; --state_.avail_in) add_to_end(*state_.next_in++);
    if (end_bytes_ < end_size) return true;
    result.status = InflateStatus::member_end;
    result.stated = {static_cast<std::uint32_t>(end_), static_cast<std::uint32_t>(end_ >> 32)};
    return true;
  }

  /// The whole bytes that the last code of the text did not need: at most 64 bits are read ahead.
  void take_bits() {
    for (std::uint64_t bits = state_.read_in >> state_.read_in_length % 8; state_.read_in_length >= 8; bits >>= 8) {
      add_to_end(bits & 0xff);
      state_.read_in_length -= 8;
    }
  }
  void add_to_end(std::uint64_t byte) { end_ |= byte << (8 * end_bytes_++); }

  static constexpr unsigned end_size = 8;

  inflate_state state_;
  isal_gzip_header header_;
  Part part_ = Part::header;
  std::uint64_t end_ = 0;  // little-endian: the checksum, then the length
  unsigned end_bytes_ = 0;
};

}  // namespace

std::unique_ptr<Inflater> make_isal_inflater() { return std::make_unique<IsalInflater>(); }

MemberText text_of_member(const char* text, std::size_t size) {
  return {crc32_gzip_refl(0, reinterpret_cast<const unsigned char*>(text), size), static_cast<std::uint32_t>(size)};
}

}  // namespace ccl
#endif
