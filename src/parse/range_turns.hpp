// Which reader of a Kineto file reads which of its ranges. They are dealt round. What is dealt to the first reader and its
// threads, on processors that others lend, is free to all of them: who has time takes the next, so that a slower processor
// keeps nobody waiting.
#pragma once
#include <cstddef>
#include <mutex>
#include <vector>

namespace ccl {

class RangeTurns {
 public:
  /// lent: the readers in whose place the first one reads. The first `threads_count` of them are threads of its, which
  /// share this object; the turns of the rest are its own. Who has not lent has an object of its own.
  RangeTurns(int ranges_count, int readers, const std::vector<int>& lent = {}, std::size_t threads_count = 0);

  /// Whose this range is, once the first reader has come to it. It comes to all of them, in order.
  int reach(int number);
  /// The next one of a later reader, in order; ranges_count if there is none. It keeps it. behind: its last one, −1 at first.
  int next(int reader, int behind);

 private:
  int ranges_count() const { return static_cast<int>(readers_.size()); }
  int next_dealt(int reader, int behind) const;
  int next_free(int behind) const;

  std::vector<int> threads_;
  std::mutex mutex_;
  int reached_ = 0;
  std::vector<int> readers_;  // by range; 0: of the first, and free while it has not come there
};

}  // namespace ccl
