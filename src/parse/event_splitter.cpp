#include "parse/event_splitter.hpp"

#include "parse/event_splitter_blocks.hpp"

namespace ccl {

std::size_t split_bytes(const char* window, std::size_t from, std::size_t to, SplitState& state, EventSpan* spans,
                        std::size_t& count, SplitStop& stop) {
  for (std::size_t at = from; at < to; ++at) {
    const char c = window[at];
    if (state.in_string) {
      if (state.escaped) {
        state.escaped = false;
      } else if (c == '\\') {
        state.escaped = true;
      } else if (c == '"') {
        state.in_string = false;
        state.after_string = true;
        state.after_separator = false;
      }
      continue;
    }
    const bool separator = is_split_separator(c);
    if ((state.after_string && !separator) || (c == '"' && !state.after_separator)) {
      stop = SplitStop::stray;
      return at;
    }
    state.after_string = false;
    state.after_separator = separator;
    if (c == '"') {
      state.in_string = true;
      state.escaped = false;
    } else if (c == '{') {
      if (state.depth++ == 0) state.event_begin = static_cast<std::uint32_t>(at);
    } else if (c == '}') {
      if (state.depth == 0) {
        stop = SplitStop::closed;
        return at;
      }
      if (--state.depth == 0) spans[count++] = {state.event_begin, static_cast<std::uint32_t>(at + 1)};
    }
  }
  return to;
}

SplitLevel best_split_level() {
#if defined(CCL_SPLIT_X86)
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("pclmul"))
    return SplitLevel::avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("pclmul")) return SplitLevel::avx2;
#endif
  return SplitLevel::scalar;
}

SplitResult split_events(const char* window, std::size_t from, std::size_t to, bool last, SplitState& state,
                         EventSpan* spans, std::size_t capacity, SplitLevel level) {
  constexpr std::size_t block = 64;
  SplitResult result;
  result.position = from;
  while (true) {
    std::size_t& at = result.position;
    if (capacity - result.count < block / 2) {
      result.stop = SplitStop::full;
      return result;
    }
    const std::size_t room = capacity - result.count - block / 2;
#if defined(CCL_SPLIT_X86)
    if (level == SplitLevel::avx512) at = split_blocks_avx512(window, at, to, state, spans, room, result.count);
    if (level == SplitLevel::avx2) at = split_blocks_avx2(window, at, to, state, spans, room, result.count);
    if (capacity - result.count < block / 2) continue;
#else
    static_cast<void>(room);
    static_cast<void>(level);
#endif
    // One block byte by byte: the one in which the fast scan saw something odd, or the last bytes of the text.
    const std::size_t left = to - at;
    if (left == 0 || (left < block && !last)) return result;
    SplitStop stop = SplitStop::end;
    at = split_bytes(window, at, at + (left < block ? left : block), state, spans, result.count, stop);
    if (stop != SplitStop::end) {
      result.stop = stop;
      return result;
    }
  }
}

}  // namespace ccl
