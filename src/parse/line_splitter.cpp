#include "parse/line_splitter.hpp"

#include <algorithm>
#include <cstring>

#include "parse/event_splitter_blocks.hpp"

namespace ccl {
namespace {

constexpr std::size_t fewest_spans = 32;      // that split_events needs room for
constexpr std::size_t first_slow_bytes = 512, most_slow_bytes = std::size_t{128} << 10;

/// What the text at some place says of the layout there.
enum class Fit : std::uint8_t { yes, no, more_text };

Fit border_at(const char* window, std::size_t at, std::size_t to, bool last) {
  const std::size_t size = std::min(line_border.size(), to - at);
  if (std::memcmp(window + at, line_border.data(), size) != 0) return Fit::no;
  return size == line_border.size() ? Fit::yes : last ? Fit::no : Fit::more_text;
}

/// The event behind the border at `from`, as the vector instructions find it.
Fit event_at(const char* window, std::size_t from, std::size_t to, bool last, EventSpan& span) {
  const std::size_t begin = from + line_gap_bytes;
  const std::size_t most = std::min(to, begin + longest_line_event_bytes);
  bool in_quotes = false;
  std::int64_t depth = 0;
  for (std::size_t at = begin; at < most; ++at) {
    const char c = window[at];
    if (c == '\\') return Fit::no;
    if (c == '"') in_quotes = !in_quotes;
    if (c == '{') ++depth;
    if (c != '}') continue;
    const bool ends = at >= begin + 3 && window[at - 3] == '\n';
    if (ends != (--depth == 0)) return Fit::no;
    if (!ends) continue;
    span = {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(at + 1)};
    return in_quotes ? Fit::no : border_at(window, at + 1, to, last);
  }
  return last || most - begin == longest_line_event_bytes ? Fit::no : Fit::more_text;
}

/// Takes the events in the layout at `position`; the answer is for what stands behind them.
Fit take_lines(const char* window, std::size_t& position, std::size_t to, bool last, EventSpan* spans,
               std::size_t capacity, std::size_t& count, SplitLevel level) {
  while (count < capacity) {
#if defined(CCL_SPLIT_X86)
    if (level != SplitLevel::scalar) {
      bool refused = false;
      const auto split = level == SplitLevel::avx512 ? split_lines_avx512 : split_lines_avx2;
      position = split(window, position, to, spans, capacity, count, refused);
      if (refused || count == capacity) return Fit::no;
    }
#else
    static_cast<void>(level);
#endif
    Fit fit = border_at(window, position, to, last);
    if (fit == Fit::yes) fit = event_at(window, position, to, last, spans[count]);
    if (fit != Fit::yes) return fit;
    position = spans[count++].end;
  }
  return Fit::no;
}

bool between_objects(const SplitState& state) { return state.depth == 0 && !state.in_string && !state.after_string; }

/// Back to where the border of the next event may begin, if `at` is in one; `state` is then what it was there.
std::size_t border_begin(const char* window, std::size_t gap, std::size_t at, SplitState& state) {
  const std::size_t lowest = std::max(gap, at - std::min(at, line_gap_bytes));
  while (at > lowest && (window[at - 1] == ',' || window[at - 1] == '\n' || window[at - 1] == ' ')) --at;
  state = {};
  if (at == gap) return at;
  state.after_separator = is_split_separator(window[at - 1]);
  state.after_string = window[at - 1] == '"';
  return at;
}

/// What split_events found from one place on.
struct SlowPart {
  const char* window = nullptr;
  std::size_t gap = 0;      // end of the event before the one at hand
  std::size_t to = 0;
  std::size_t refused = 0;  // an event that begins there is known not to be in the layout
  bool last = false;

  bool may_be_in_layout(std::size_t begin) const {
    return begin >= gap + line_gap_bytes && begin != refused &&
           border_at(window, begin - line_gap_bytes, to, last) != Fit::no;
  }
  /// Takes spans until one may be in the layout, which then goes the quick way as it does where it comes first; `gap` is
  /// behind the last one taken. known: the first one is not, it was open before. The border of the one that may, else 0.
  std::size_t take(const EventSpan* spans, std::size_t count, const SplitState& state, bool known, std::size_t& taken) {
    for (std::size_t i = 0; i < count; ++i, known = false) {
      if (!known && may_be_in_layout(spans[i].begin)) return spans[i].begin - line_gap_bytes;
      gap = spans[i].end;
      ++taken;
    }
    return !known && state.depth > 0 && may_be_in_layout(state.event_begin) ? state.event_begin - line_gap_bytes : 0;
  }
};

}  // namespace

SplitResult split_lines(const char* window, std::size_t from, std::size_t to, bool last, SplitState& state,
                        EventSpan* spans, std::size_t capacity, SplitLevel level) {
  SplitResult result;
  std::size_t& position = result.position = from;
  std::size_t slow_bytes = first_slow_bytes;  // for split_events: more where the layout does not come back
  while (true) {
    SlowPart slow{window, position, to, 0, last};
    if (between_objects(state)) {
      const std::size_t before = result.count;
      const Fit fit = take_lines(window, position, to, last, spans, capacity, result.count, level);
      if (result.count > before) {
        state = {};
        slow_bytes = first_slow_bytes;
      }
      if (result.count - before > result.lines_end - result.lines_begin) {
        result.lines_begin = before;
        result.lines_end = result.count;
      }
      if (fit == Fit::more_text) return result;
      slow.gap = position;
      slow.refused = position + line_gap_bytes;
    }
    if (capacity - result.count < fewest_spans) {
      result.stop = SplitStop::full;
      return result;
    }
    const bool open_before = state.depth > 0;
    const std::size_t slow_end = std::min(to, position + slow_bytes);
    EventSpan* const found = spans + result.count;
    const SplitResult next = split_events(window, position, slow_end, last && slow_end == to, state, found,
                                          capacity - result.count, level);
    if (const std::size_t border = slow.take(found, next.count, state, open_before, result.count); border > 0) {
      position = border;
      state = {};
      slow_bytes = first_slow_bytes;
      continue;
    }
    slow_bytes = std::min(2 * slow_bytes, most_slow_bytes);
    if (next.stop == SplitStop::full) {
      position = slow.gap;
      state = {};
      continue;
    }
    position = next.position;
    result.stop = next.stop;
    if (next.stop != SplitStop::end) return result;
    if (between_objects(state) && !(last && position == to)) position = border_begin(window, slow.gap, position, state);
    if (slow_end == to) return result;
  }
}

bool has_second_phase(std::string_view text, [[maybe_unused]] SplitLevel level) {
#if defined(CCL_SPLIT_X86)
  if (text.size() >= fewest_phase_bytes) {
    if (level == SplitLevel::avx512) return count_phases_avx512(text) > 1;
    if (level == SplitLevel::avx2) return count_phases_avx2(text) > 1;
  }
#endif
  constexpr std::string_view phase = "\"ph\"";
  const std::size_t first = text.find(phase);
  return first != std::string_view::npos && text.find(phase, first + 1) != std::string_view::npos;
}

}  // namespace ccl
