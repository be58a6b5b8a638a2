// 64 bytes become bit masks (one bit a byte), on which strings and braces are found with a few integer operations:
// the method of simdjson's first stage (Langdale and Lemire, 2019), reduced to what event borders need.
#include "parse/event_splitter_blocks.hpp"

#if defined(CCL_SPLIT_X86)
#include <immintrin.h>

namespace ccl {
namespace {

struct BlockMasks {
  std::uint64_t quote, backslash, open, close, separator;
};

struct BlockCarry {
  std::uint64_t in_string;        // all ones inside a string
  std::uint64_t escaped;          // 1: the first byte of the block is escaped
  std::uint64_t after_separator;  // 1 or 0
  std::uint64_t after_string;
  std::int64_t depth;
  std::uint32_t event_begin;
};

#define CCL_AVX2 __attribute__((target("avx2,pclmul,bmi,bmi2,lzcnt,popcnt")))
#define CCL_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx2,pclmul,bmi,bmi2,lzcnt,popcnt")))

// The tables of the shuffles recognise , : { [ } ] once bit 5 is set: the entry at a byte's low four bits is the byte
// itself, so 0x3a is at 10, 0x7b at 11, 0x2c at 12, 0x7d at 13.

CCL_AVX512 inline BlockMasks masks_avx512(const char* at) {
  const __m512i bytes = _mm512_loadu_si512(at);
  const __m512i table = _mm512_set4_epi32(0x00007d2c, 0x7b3a0000, 0, 0);
  const __m512i folded = _mm512_or_si512(bytes, _mm512_set1_epi8(0x20));
  BlockMasks m;
  m.quote = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('"'));
  m.backslash = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('\\'));
  m.open = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('{'));
  m.close = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('}'));
  m.separator = _mm512_cmpeq_epi8_mask(_mm512_shuffle_epi8(table, folded), folded) |
                _mm512_cmple_epu8_mask(bytes, _mm512_set1_epi8(' '));
  return m;
}

CCL_AVX2 inline std::uint64_t bits_avx2(__m256i low, __m256i high) {
  return static_cast<std::uint32_t>(_mm256_movemask_epi8(low)) |
         (static_cast<std::uint64_t>(static_cast<std::uint32_t>(_mm256_movemask_epi8(high))) << 32);
}

CCL_AVX2 inline __m256i separators_avx2(__m256i bytes) {
  const __m256i table = _mm256_broadcastsi128_si256(_mm_set_epi32(0x00007d2c, 0x7b3a0000, 0, 0));
  const __m256i folded = _mm256_or_si256(bytes, _mm256_set1_epi8(0x20));
  const __m256i space = _mm256_cmpeq_epi8(_mm256_max_epu8(bytes, _mm256_set1_epi8(' ')), _mm256_set1_epi8(' '));
  return _mm256_or_si256(_mm256_cmpeq_epi8(_mm256_shuffle_epi8(table, folded), folded), space);
}

CCL_AVX2 inline BlockMasks masks_avx2(const char* at) {
  const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
  const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at + 32));
  const auto equal = [&](char c) CCL_AVX2 {
    return bits_avx2(_mm256_cmpeq_epi8(low, _mm256_set1_epi8(c)), _mm256_cmpeq_epi8(high, _mm256_set1_epi8(c)));
  };
  return {equal('"'), equal('\\'), equal('{'), equal('}'), bits_avx2(separators_avx2(low), separators_avx2(high))};
}

/// Bits of bytes that are escaped. Backslashes outside strings do not occur in JSON and are not told apart here;
/// split_block leaves blocks that have one to the byte scan.
inline std::uint64_t escaped_bits(std::uint64_t backslash, std::uint64_t& carry) {
  std::uint64_t escaped = carry;
  carry = 0;
  std::uint64_t left = backslash & ~escaped;
  while (left != 0) {
    const int at = __builtin_ctzll(left);
    if (at == 63) {
      carry = 1;
      return escaped;
    }
    escaped |= std::uint64_t{1} << (at + 1);
    left &= ~(std::uint64_t{3} << at);
  }
  return escaped;
}

CCL_AVX2 inline std::uint64_t prefix_xor(std::uint64_t bits) {
  const __m128i all = _mm_clmulepi64_si128(_mm_set_epi64x(0, static_cast<long long>(bits)), _mm_set1_epi8('\xFF'), 0);
  return static_cast<std::uint64_t>(_mm_cvtsi128_si64(all));
}

/// False, and nothing changed, if the block needs the byte scan.
__attribute__((always_inline)) CCL_AVX2 inline bool split_block(const BlockMasks& m, std::size_t at, BlockCarry& carry,
                                                                EventSpan* spans, std::size_t& count) {
  std::uint64_t next_escaped = carry.escaped;
  std::uint64_t quote = m.quote;
  if ((m.backslash | carry.escaped) != 0) quote &= ~escaped_bits(m.backslash, next_escaped);
  const std::uint64_t in_string = prefix_xor(quote) ^ carry.in_string;  // opening quote in, closing quote out
  const std::uint64_t opening = quote & in_string, closing = quote & ~in_string;
  const std::uint64_t stray = (opening & ~((m.separator << 1) | carry.after_separator)) |
                              (((closing << 1) | carry.after_string) & ~m.separator);
  const std::uint64_t odd = stray | (m.backslash & ~in_string);
  if (__builtin_expect(odd != 0, 0)) return false;

  std::int64_t depth = carry.depth, lowest = 0;
  std::uint32_t begin = carry.event_begin;
  std::size_t added = count;
  for (std::uint64_t braces = (m.open | m.close) & ~in_string; braces != 0; braces &= braces - 1) {
    const int bit = __builtin_ctzll(braces);
    const auto position = static_cast<std::uint32_t>(at + static_cast<std::size_t>(bit));
    const auto is_open = static_cast<std::int64_t>((m.open >> bit) & 1);
    begin = (is_open != 0 && depth == 0) ? position : begin;
    depth += 2 * is_open - 1;
    lowest |= depth;
    spans[added] = {begin, position + 1};
    added += static_cast<std::size_t>((is_open ^ 1) & static_cast<std::int64_t>(depth == 0));
  }
  if (__builtin_expect(lowest < 0, 0)) return false;
  count = added;
  carry.depth = depth;
  carry.event_begin = begin;
  carry.escaped = next_escaped;
  carry.in_string = static_cast<std::uint64_t>(static_cast<std::int64_t>(in_string) >> 63);
  carry.after_separator = (m.separator & ~in_string) >> 63;
  carry.after_string = closing >> 63;
  return true;
}

BlockCarry to_carry(const SplitState& s) {
  return {s.in_string ? ~std::uint64_t{0} : 0, s.escaped ? 1U : 0U, s.after_separator ? 1U : 0U,
          s.after_string ? 1U : 0U, s.depth, s.event_begin};
}

void from_carry(const BlockCarry& c, SplitState& s) {
  s.in_string = c.in_string != 0;
  s.escaped = c.escaped != 0;
  s.after_separator = c.after_separator != 0;
  s.after_string = c.after_string != 0;
  s.depth = static_cast<std::int32_t>(c.depth);
  s.event_begin = c.event_begin;
}

}  // namespace

CCL_AVX2 std::size_t split_blocks_avx2(const char* window, std::size_t from, std::size_t to, SplitState& state,
                                       EventSpan* spans, std::size_t room, std::size_t& count) {
  BlockCarry carry = to_carry(state);
  const std::size_t most = count + room;
  std::size_t at = from;
  for (; at + 64 <= to && count <= most; at += 64)
    if (!split_block(masks_avx2(window + at), at, carry, spans, count)) break;
  from_carry(carry, state);
  return at;
}

CCL_AVX512 std::size_t split_blocks_avx512(const char* window, std::size_t from, std::size_t to, SplitState& state,
                                           EventSpan* spans, std::size_t room, std::size_t& count) {
  BlockCarry carry = to_carry(state);
  const std::size_t most = count + room;
  std::size_t at = from;
  for (; at + 64 <= to && count <= most; at += 64)
    if (!split_block(masks_avx512(window + at), at, carry, spans, count)) break;
  from_carry(carry, state);
  return at;
}

}  // namespace ccl
#endif
