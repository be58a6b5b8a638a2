// Identifiers as types: mixing a rank with a group does not compile. Ids of text and of process groups are
// hashes of their content: computed alike on every worker, never negotiated.
#pragma once
#include <compare>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace ccl {

/// 64-bit hash of a text; the same on every machine and in every version (it is written to no file, but decides
/// which worker owns what). Eight bytes a step with a multiply-and-fold mix.
inline std::uint64_t stable_hash(std::string_view text, std::uint64_t seed = 0x9e3779b97f4a7c15ULL) noexcept {
  const auto mix = [](std::uint64_t a, std::uint64_t b) noexcept {
    std::uint64_t h = (a ^ b) * 0xff51afd7ed558ccdULL;
    h ^= h >> 32;
    h *= 0xc4ceb9fe1a85ec53ULL;
    return h ^ (h >> 29);
  };
  std::uint64_t hash = mix(seed, text.size());
  const char* at = text.data();
  std::size_t left = text.size();
  for (; left >= 8; at += 8, left -= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, 8);
    hash = mix(hash, word);
  }
  if (left > 0) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, left);
    hash = mix(hash, word ^ (static_cast<std::uint64_t>(left) << 56));
  }
  return hash;
}

/// Folds a number into a hash; order matters.
inline std::uint64_t hash_combine(std::uint64_t hash, std::uint64_t value) noexcept {
  char bytes[8];
  std::memcpy(bytes, &value, 8);
  return stable_hash(std::string_view(bytes, 8), hash);
}

template <class Tag, class Rep, Rep Unknown>
struct Id {
  Rep value = Unknown;
  constexpr Id() = default;
  constexpr explicit Id(Rep v) : value(v) {}
  constexpr bool known() const { return value != Unknown; }
  friend constexpr auto operator<=>(const Id&, const Id&) = default;
};

using RankId = Id<struct RankTag, std::int32_t, -1>;      // a rank of the training run
using StringId = Id<struct StringTag, std::uint64_t, 0>;  // stable_hash of the text; 0 is the empty text
using GroupId = Id<struct GroupTag, std::uint64_t, 0>;    // a process group of the training run

inline StringId string_id(std::string_view text) {
  return text.empty() ? StringId() : StringId(stable_hash(text));
}

/// A training step: the iteration folder (−1: none) and the number in ProfilerStep#N.
struct StepId {
  std::int32_t iteration = -1;
  std::int64_t step = -1;
  friend constexpr auto operator<=>(const StepId&, const StepId&) = default;
};

/// Step number of events that belong to no step (launched outside every ProfilerStep, or before the window).
inline constexpr std::int64_t outside_step = -1;

/// Absent value of times and of signed values; −1 stands for an unknown count, size or id.
inline constexpr std::int64_t absent_ns = INT64_MIN;

}  // namespace ccl
