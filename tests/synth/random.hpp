// Seeded numbers without state: a value depends only on the seed and the place it is drawn for, so ranks and steps
// can be simulated in any order and a change in one place disturbs no other.
#pragma once
#include <cstdint>

namespace synth {

inline std::uint64_t scramble(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

template <class... Parts>
std::uint64_t draw(std::uint64_t seed, Parts... parts) {
  std::uint64_t h = scramble(seed);
  ((h = scramble(h ^ static_cast<std::uint64_t>(parts))), ...);
  return h;
}

/// In [0, 1).
inline double fraction(std::uint64_t h) { return static_cast<double>(h >> 11) * 0x1.0p-53; }

/// In [low, high].
inline std::int64_t between(std::uint64_t h, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(h % static_cast<std::uint64_t>(high - low + 1));
}

}  // namespace synth
