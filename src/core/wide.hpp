// 128-bit integers for products of nanoseconds or bytes, without the pedantic warning.
#pragma once
#include <cstdint>

namespace ccl {
__extension__ typedef __int128 Wide;

/// a × b / c, towards zero. The product may be of 128 bits, the quotient is of 64. Most products fit 64 bits, and what divides
/// those takes a tenth of the time.
inline std::int64_t scaled(std::int64_t a, std::int64_t b, std::int64_t c) {
  std::int64_t product = 0;
  if (!__builtin_mul_overflow(a, b, &product)) return product / c;
  return static_cast<std::int64_t>(static_cast<Wide>(a) * b / c);
}
}  // namespace ccl
