// Where events end in Kineto's layout: at a brace three bytes behind a line feed. Quotes and braces are only counted.
#include <algorithm>
#include <cstring>

#include "parse/event_splitter_blocks.hpp"

#if defined(CCL_SPLIT_X86)
#include <immintrin.h>

namespace ccl {
namespace {

#define CCL_AVX2 __attribute__((target("avx2,bmi,bmi2,lzcnt,popcnt")))
#define CCL_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx2,bmi,bmi2,lzcnt,popcnt")))

struct LineMasks {
  std::uint64_t quote, backslash, open, close, feed;
};

CCL_AVX512 inline LineMasks masks_avx512(const char* at) {
  const __m512i bytes = _mm512_loadu_si512(at);
  const auto equal = [&](char c) CCL_AVX512 { return _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(c)); };
  return {equal('"'), equal('\\'), equal('{'), equal('}'), equal('\n')};
}

CCL_AVX2 inline LineMasks masks_avx2(const char* at) {
  const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
  const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at + 32));
  const auto equal = [&](char c) CCL_AVX2 {
    const __m256i wanted = _mm256_set1_epi8(c);
    const auto bits = [&](__m256i half) CCL_AVX2 {
      return static_cast<std::uint64_t>(static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(half, wanted))));
    };
    return bits(low) | bits(high) << 32;
  };
  return {equal('"'), equal('\\'), equal('{'), equal('}'), equal('\n')};
}

constexpr std::size_t between_bytes = line_border.size();

inline bool is_between(const char* at) {
  std::uint64_t first = 0, wanted = 0;
  std::memcpy(&first, at, 8);
  std::memcpy(&wanted, line_border.data(), 8);
  return first == wanted && at[8] == line_border[8] && at[9] == line_border[9] && at[10] == line_border[10];
}

/// An event from the brace that opens it, 64 bytes at a time.
struct OpenEvent {
  std::size_t begin = 0, at = 0;
  std::uint64_t odd_quotes = 0, backslashes = 0, feed_before = 0;
  std::int64_t depth = 0;
  bool closed_before = false;  // by a brace that does not end it

  explicit OpenEvent(std::size_t from) : begin(from), at(from) {}
  bool fits(std::size_t to) const { return at + 64 + between_bytes <= to && at - begin < longest_line_event_bytes; }
  /// True when the block holds the brace that ends the event; `at` is then behind it.
  __attribute__((always_inline)) bool add(const LineMasks& m) {
    if (__builtin_expect(m.close != 0, 0)) return add_closing(m);
    feed_before = m.feed;
    add_open(m, ~std::uint64_t{0});
    at += 64;
    return false;
  }
  __attribute__((always_inline)) void add_open(const LineMasks& m, std::uint64_t upto) {
    backslashes |= m.backslash & upto;
    odd_quotes ^= m.quote & upto;
    depth += __builtin_popcountll(m.open & upto);
  }
  __attribute__((always_inline)) bool add_closing(const LineMasks& m) {
    const std::uint64_t ends = m.close & (m.feed << 3 | feed_before >> 61);
    const int bit = ends == 0 ? 63 : __builtin_ctzll(ends);
    const std::uint64_t upto = ~std::uint64_t{0} >> (63 - bit);
    feed_before = m.feed;
    // The braces that close before the end: nearly always one, of the arguments.
    const std::uint64_t inner = m.close & (ends == 0 ? upto : upto >> 1);
    const std::uint64_t before_inner = inner ^ (inner - 1);
    closed_before |= inner != 0 && depth + __builtin_popcountll(m.open & before_inner) <= 1;
    if (__builtin_expect((inner & (inner - 1)) != 0, 0)) look_inside(m, upto, inner);
    add_open(m, upto);
    depth -= __builtin_popcountll(m.close & upto);
    at += static_cast<std::size_t>(bit) + 1;
    return ends != 0;
  }
  void look_inside(const LineMasks& m, std::uint64_t upto, std::uint64_t inner) {
    std::int64_t open = depth;
    for (std::uint64_t braces = (m.open | inner) & upto; braces != 0; braces &= braces - 1) {
      const bool closes = (inner & braces & (~braces + 1)) != 0;
      open += closes ? -1 : 1;
      closed_before = closed_before || (closes && open <= 0);
    }
  }
  bool whole() const {
    return depth == 0 && !closed_before && backslashes == 0 && __builtin_parityll(odd_quotes) == 0 &&
           at - begin <= longest_line_event_bytes;
  }
};

}  // namespace

CCL_AVX2 std::size_t split_lines_avx2(const char* window, std::size_t from, std::size_t to, EventSpan* spans,
                                      std::size_t capacity, std::size_t& count, bool& refused) {
  while (count < capacity && from + between_bytes <= to && is_between(window + from)) {
    OpenEvent event(from + line_gap_bytes);
    bool ended = false;
    while (!ended && event.fits(to)) ended = event.add(masks_avx2(window + event.at));
    if (!ended || !event.whole() || !is_between(window + event.at)) {
      refused = ended;
      break;
    }
    spans[count++] = {static_cast<std::uint32_t>(event.begin), static_cast<std::uint32_t>(event.at)};
    from = event.at;
  }
  return from;
}

CCL_AVX512 std::size_t split_lines_avx512(const char* window, std::size_t from, std::size_t to, EventSpan* spans,
                                          std::size_t capacity, std::size_t& count, bool& refused) {
  while (count < capacity && from + between_bytes <= to && is_between(window + from)) {
    OpenEvent event(from + line_gap_bytes);
    bool ended = false;
    while (!ended && event.fits(to)) ended = event.add(masks_avx512(window + event.at));
    if (!ended || !event.whole() || !is_between(window + event.at)) {
      refused = ended;
      break;
    }
    spans[count++] = {static_cast<std::uint32_t>(event.begin), static_cast<std::uint32_t>(event.at)};
    from = event.at;
  }
  return from;
}

// Of the last block, which overlaps the one before, only what that did not see counts.
CCL_AVX2 int count_phases_avx2(std::string_view text) {
  constexpr std::size_t block = 32;
  const std::size_t last = text.size() - 3 - block;
  int count = 0;
  for (std::size_t at = 0, seen = 0; seen < last + block; at = std::min(at + block, last)) {
    const auto equal = [&](std::size_t behind, char c) CCL_AVX2 {
      const auto* const bytes = reinterpret_cast<const __m256i*>(text.data() + at + behind);
      return _mm256_cmpeq_epi8(_mm256_loadu_si256(bytes), _mm256_set1_epi8(c));
    };
    const __m256i front = _mm256_and_si256(equal(0, '"'), equal(1, 'p'));
    if (_mm256_testz_si256(front, front) == 0) {
      const __m256i whole = _mm256_and_si256(front, _mm256_and_si256(equal(2, 'h'), equal(3, '"')));
      count += __builtin_popcount(static_cast<unsigned>(_mm256_movemask_epi8(whole)) >> (seen - at));
    }
    seen = at + block;
  }
  return count;
}

CCL_AVX512 int count_phases_avx512(std::string_view text) {
  constexpr std::size_t block = 64;
  const std::size_t last = text.size() - 3 - block;
  int count = 0;
  for (std::size_t at = 0, seen = 0; seen < last + block; at = std::min(at + block, last)) {
    const auto equal = [&](__mmask64 among, std::size_t behind, char c) CCL_AVX512 {
      return _mm512_mask_cmpeq_epi8_mask(among, _mm512_loadu_si512(text.data() + at + behind), _mm512_set1_epi8(c));
    };
    const __mmask64 front = equal(equal(~__mmask64{0} << (seen - at), 0, '"'), 1, 'p');
    if (front != 0) count += __builtin_popcountll(equal(equal(front, 2, 'h'), 3, '"'));
    seen = at + block;
  }
  return count;
}

}  // namespace ccl
#endif
