// Fetching what will be asked for soon: a line of memory that is far away costs as much as a hundred additions. For loops that
// know where they go next, as along an order.
#pragma once
#include <cstddef>

namespace ccl {

/// How many turns of a loop ahead: more than the time of a line from memory, less than what the first-level cache holds.
inline constexpr std::size_t fetch_ahead = 12;

/// The line of memory in which it begins. No effect but on time; it need not exist.
template <class T>
void fetch(const T* at) {
#if defined(__GNUC__) || defined(__clang__)
  __builtin_prefetch(at);
#else
  static_cast<void>(at);
#endif
}

/// By number, of several lists.
template <class... Lists>
void fetch_of(std::size_t i, const Lists&... lists) {
  (fetch(lists.data() + i), ...);
}

}  // namespace ccl
