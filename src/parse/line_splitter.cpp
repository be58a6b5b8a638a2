#include "parse/line_splitter.hpp"

#include <algorithm>
#include <cstring>

#include "parse/event_splitter_blocks.hpp"

namespace ccl {

SplitResult split_lines(const char* window, std::size_t from, std::size_t to, bool last, SplitState& state,
                        EventSpan* spans, std::size_t capacity, SplitLevel level) {
#if defined(CCL_SPLIT_X86)
  constexpr std::size_t block = 64, one_event = block / 2;
  SplitResult result;
  result.position = from;
  std::size_t slowly = one_event;  // room for what split_events takes at a time: more where the layout does not come back
  while (level != SplitLevel::scalar) {
    if (state.depth == 0 && !state.in_string && !state.after_string) {
      const std::size_t before = result.count;
      const auto split = level == SplitLevel::avx512 ? split_lines_avx512 : split_lines_avx2;
      result.position = split(window, result.position, to, spans, capacity - block, result.count);
      if (result.count > before) {
        state = {};  // behind a brace
        slowly = one_event;
      }
    }
    if (result.count > 0 && capacity - result.count <= block) {
      result.stop = SplitStop::full;
      return result;
    }
    const std::size_t room = std::min(slowly, capacity - result.count);
    const SplitResult next =
        split_events(window, result.position, to, last, state, spans + result.count, room, level);
    slowly = std::min(2 * slowly, capacity);
    result.position = next.position;
    result.stop = next.stop;
    result.count += next.count;
    if (next.stop != SplitStop::full) return result;
    // Back to the end of the last whole event: there the layout may begin.
    result.position = spans[result.count - 1].end;
    state = {};
  }
#endif
  return split_events(window, from, to, last, state, spans, capacity, level);
}

}  // namespace ccl
