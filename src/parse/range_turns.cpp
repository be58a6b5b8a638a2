#include "parse/range_turns.hpp"

#include <algorithm>

namespace ccl {

RangeTurns::RangeTurns(int ranges_count, int readers, const std::vector<int>& lent) : lent_(lent) {
  constexpr int given_up = 4;  // of a thread's turns, each fourth is the first reader's unless the thread gets ahead
  for (int number = 0; number < ranges_count; ++number) {
    const int reader = number % readers;
    readers_.push_back(is_lent(reader) && number / readers % given_up == given_up - 1 ? 0 : reader);
  }
}

bool RangeTurns::is_lent(int reader) const { return std::find(lent_.begin(), lent_.end(), reader) != lent_.end(); }

int RangeTurns::reach(int number) {
  const std::lock_guard lock(mutex_);
  reached_ = number;
  return readers_[static_cast<std::size_t>(number)];
}

int RangeTurns::next(int reader, int behind) {
  const std::lock_guard lock(mutex_);
  int number = behind + 1;
  for (; number < static_cast<int>(readers_.size()); ++number) {
    int& of_range = readers_[static_cast<std::size_t>(number)];
    if (of_range == 0 && is_lent(reader) && first_has_time(number)) of_range = reader;
    if (of_range == reader) break;
  }
  return number;
}

// It reads two others before it comes there, and will not wait: with one it often did.
bool RangeTurns::first_has_time(int number) const {
  const int next = std::min(reached_ + 1, number);
  return std::count(readers_.begin() + next, readers_.begin() + number, 0) > 1;
}

}  // namespace ccl
