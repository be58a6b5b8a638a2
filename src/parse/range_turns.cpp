#include "parse/range_turns.hpp"

#include <algorithm>

namespace ccl {

RangeTurns::RangeTurns(int ranges_count, int readers, const std::vector<int>& lent, std::size_t threads_count)
    : threads_(lent.begin(), lent.begin() + static_cast<std::ptrdiff_t>(std::min(threads_count, lent.size()))) {
  for (int number = 0; number < ranges_count; ++number) {
    const int reader = number % readers;
    readers_.push_back(std::find(lent.begin(), lent.end(), reader) != lent.end() ? 0 : reader);
  }
}

int RangeTurns::reach(int number) {
  const std::lock_guard lock(mutex_);
  reached_ = number;
  return readers_[static_cast<std::size_t>(number)];
}

int RangeTurns::next(int reader, int behind) {
  const std::lock_guard lock(mutex_);
  const bool is_thread = std::find(threads_.begin(), threads_.end(), reader) != threads_.end();
  const int number = is_thread ? next_free(behind) : next_dealt(reader, behind);
  if (number < ranges_count()) readers_[static_cast<std::size_t>(number)] = reader;
  return number;
}

int RangeTurns::next_dealt(int reader, int behind) const {
  return static_cast<int>(std::find(readers_.begin() + behind + 1, readers_.end(), reader) - readers_.begin());
}

// The first one reads two free ones before it comes there, and does not wait: with one it often did. Of the last ones, which are
// small, it is left fewer, so that all end together.
int RangeTurns::next_free(int behind) const {
  int left_to_first = std::min(2, (ranges_count() - reached_ - 1) / 4);
  int number = reached_ + 1;
  for (; number < ranges_count(); ++number)
    if (readers_[static_cast<std::size_t>(number)] == 0 && left_to_first-- <= 0 && number > behind) break;
  return number;
}

}  // namespace ccl
