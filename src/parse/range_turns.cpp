#include "parse/range_turns.hpp"

#include <algorithm>

namespace ccl {

RangeTurns::RangeTurns(int ranges_count, int readers, const std::vector<int>& lent, std::size_t threads_count)
    : threads_(lent.begin(), lent.begin() + static_cast<std::ptrdiff_t>(std::min(threads_count, lent.size()))) {
  constexpr int given_up = 4;  // of a thread's turns, each fourth is the first reader's unless the thread gets ahead
  for (int number = 0; number < ranges_count; ++number) {
    const int reader = number % readers;
    const bool is_lent = std::find(lent.begin(), lent.end(), reader) != lent.end();
    const bool is_turn = is_thread(reader) && number / readers % given_up != given_up - 1;
    readers_.push_back(is_lent && !is_turn ? 0 : reader);
  }
}

bool RangeTurns::is_thread(int reader) const {
  return std::find(threads_.begin(), threads_.end(), reader) != threads_.end();
}

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
    if (of_range == 0 && is_thread(reader) && first_has_time(number)) of_range = reader;
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
