// Rows summed by their key as they come: of many records with few keys only the sums are ever kept.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace ccl {

template <class Row>
class Summed {
 public:
  void add(const Row& row) {
    const auto key = row.key();
    if (last_ == rows_.end() || last_->first != key) {
      const auto [at, added] = rows_.try_emplace(key, row);
      last_ = at;
      if (added) return;
    }
    last_->second.combine(row);
  }
  void move_to(std::vector<Row>& out) const {
    for (const auto& [key, row] : rows_) out.push_back(row);
  }

 private:
  using Rows = std::map<decltype(std::declval<const Row&>().key()), Row>;
  Rows rows_;
  typename Rows::iterator last_ = rows_.end();
};

/// The same in one list, for rows that come in order of their keys again and again: the row behind the last one is looked at
/// first.
template <class Row>
class SummedInTurn {
 public:
  void add(const Row& row) {
    const auto key = row.key();
    auto at = rows_.begin() + static_cast<std::ptrdiff_t>(next_);
    if (at == rows_.end() || at->key() != key)
      at = std::lower_bound(rows_.begin(), rows_.end(), key, [](const Row& known, const auto& k) { return known.key() < k; });
    if (at == rows_.end() || at->key() != key)
      at = rows_.insert(at, row);
    else
      at->combine(row);
    next_ = static_cast<std::size_t>(at - rows_.begin()) + 1;
  }
  void move_to(std::vector<Row>& out) const { out.insert(out.end(), rows_.begin(), rows_.end()); }
  /// Begins anew in the memory that it has.
  void clear() {
    rows_.clear();
    next_ = 0;
  }

 private:
  std::vector<Row> rows_;
  std::size_t next_ = 0;
};

/// The same for rows of ranks that come group by group, each in order of steps.
template <class Row>
class SummedByRank {
 public:
  explicit SummedByRank(std::size_t ranks_count) : ranks_(ranks_count) {}
  void add(std::int32_t rank_row, const Row& row) { ranks_[static_cast<std::size_t>(rank_row)].add(row); }
  void move_to(std::vector<Row>& out) const {
    for (const SummedInTurn<Row>& rank : ranks_) rank.move_to(out);
  }

 private:
  std::vector<SummedInTurn<Row>> ranks_;
};

}  // namespace ccl
