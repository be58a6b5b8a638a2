#if defined(CCL_HAVE_ISAL)
#include <isa-l/igzip_lib.h>

#include <algorithm>
#include <limits>

#include "parse/inflate.hpp"

namespace ccl {
namespace {

class IsalInflater final : public Inflater {
 public:
  IsalInflater() { restart(); }

  void restart() override {
    isal_inflate_init(&state_);
    state_.crc_flag = ISAL_GZIP;
  }

  InflateStep step(const char* in, std::size_t in_size, char* out, std::size_t out_size) override {
    constexpr std::size_t most = std::numeric_limits<std::uint32_t>::max();
    const auto in_now = static_cast<std::uint32_t>(std::min(in_size, most));
    const auto out_now = static_cast<std::uint32_t>(std::min(out_size, most));
    state_.next_in = reinterpret_cast<std::uint8_t*>(const_cast<char*>(in));
    state_.avail_in = in_now;
    state_.next_out = reinterpret_cast<std::uint8_t*>(out);
    state_.avail_out = out_now;
    const int code = isal_inflate(&state_);
    InflateStep result;
    result.consumed = in_now - state_.avail_in;
    result.produced = out_now - state_.avail_out;
    if (code != ISAL_DECOMP_OK && code != ISAL_END_INPUT && code != ISAL_OUT_OVERFLOW)
      result.status = InflateStatus::damaged;
    else if (state_.block_state == ISAL_BLOCK_FINISH)
      result.status = InflateStatus::member_end;
    return result;
  }

 private:
  inflate_state state_;
};

}  // namespace

std::unique_ptr<Inflater> make_isal_inflater() { return std::make_unique<IsalInflater>(); }

}  // namespace ccl
#endif
