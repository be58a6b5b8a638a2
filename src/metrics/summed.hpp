// Rows summed by their key as they come: of many records with few keys only the sums are ever kept.
#pragma once
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

}  // namespace ccl
