// Differences as numbers without sign: those near zero become small.
#pragma once
#include <cstdint>

namespace ccl {

/// From before to after, the sign in the last bit: 0, -1, 1, -2 … become 0, 1, 2, 3 …; wraps around.
inline std::uint64_t zigzag_between(std::int64_t before, std::int64_t after) {
  const std::uint64_t moved = static_cast<std::uint64_t>(after) - static_cast<std::uint64_t>(before);
  return moved << 1 ^ (std::uint64_t{0} - (moved >> 63));
}

/// What zigzag_between() came from, given what was before.
inline std::int64_t after_zigzag(std::int64_t before, std::uint64_t zigzag) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(before) + (zigzag >> 1 ^ (std::uint64_t{0} - (zigzag & 1))));
}

}  // namespace ccl
