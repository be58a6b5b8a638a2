// Exact statistics of values by key over all workers, none of which ever holds all of them. In: how often each value
// occurs, on every worker. Out: one spread a key and slice, which combine to one a key in the merge. Each row moves once.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "core/recently_found.hpp"
#include "core/statistics.hpp"
#include "exchange/deal.hpp"
#include "metrics/metric.hpp"

namespace ccl {

/// Percentiles by linear interpolation between order statistics, as core/statistics.hpp has them.
struct Spread {
  static constexpr std::int64_t elsewhere = INT64_MIN;  // this order statistic lies in another worker's slice
  static constexpr std::size_t orders_count = 6;        // of 0, 50 (below, above), 95 (below, above) and 100 percent
  std::int64_t count = 0, sum_ns = 0, positive_count = 0, positive_ns = 0;
  std::array<std::int64_t, orders_count> orders_ns{elsewhere, elsewhere, elsewhere, elsewhere, elsewhere, elsewhere};

  /// Which of `total` values in order are orders_ns, ascending.
  static std::array<std::int64_t, orders_count> numbers(std::int64_t total) {
    const auto above = [&](double percent) { return std::min(below(percent, total) + 1, total - 1); };
    return {0, below(50, total), above(50), below(95, total), above(95), total - 1};
  }
  void add(std::int64_t value, std::int64_t times) {
    count += times;
    sum_ns += value * times;
    if (value < 0) return;
    positive_count += times;
    positive_ns += value * times;
  }
  void combine(const Spread& other) {
    count += other.count;
    sum_ns += other.sum_ns;
    positive_count += other.positive_count;
    positive_ns += other.positive_ns;
    for (std::size_t i = 0; i < orders_count; ++i) orders_ns[i] = std::max(orders_ns[i], other.orders_ns[i]);
  }
  double mean() const { return ratio(static_cast<double>(sum_ns), static_cast<double>(count)); }
  double positive_mean() const { return ratio(static_cast<double>(positive_ns), static_cast<double>(positive_count)); }
  double least() const { return static_cast<double>(orders_ns.front()); }
  double p50() const { return between(50, 1); }
  double p95() const { return between(95, 3); }
  double most() const { return static_cast<double>(orders_ns.back()); }

 private:
  static double place(double percent, std::int64_t total) { return percent / 100 * static_cast<double>(total - 1); }
  static std::int64_t below(double percent, std::int64_t total) { return static_cast<std::int64_t>(place(percent, total)); }
  double between(double percent, std::size_t i) const {
    const auto low = static_cast<double>(orders_ns[i]), high = static_cast<double>(orders_ns[i + 1]);
    return low + (high - low) * (place(percent, count) - static_cast<double>(below(percent, count)));
  }
};

/// Not written: how often a value occurs. Of: plain, with an order.
template <class Of>
struct Valued {
  Of of;
  std::int64_t value_ns = 0, count = 0;
  auto key() const { return std::tuple(of, value_ns); }
  void combine(const Valued& other) { count += other.count; }
  static TableInfo table() { return {}; }
  static std::vector<ColumnSpec<Valued>> columns(const Resolver&) { return {}; }
};

/// Not written as such.
template <class Of>
struct SpreadOf {
  Of of;
  Spread spread;
  auto key() const { return std::tuple(of); }
  void combine(const SpreadOf& other) { spread.combine(other.spread); }
  static TableInfo table() { return {}; }
  static std::vector<ColumnSpec<SpreadOf>> columns(const Resolver&) { return {}; }
};

/// As sort_and_fold(rows), key by key: however many there are, a row is only compared with those of its own. Best where a
/// rank's rows of one key lie together.
template <class Of>
void sort_and_fold_each(std::vector<Valued<Of>>& rows) {
  std::map<Of, std::vector<Valued<Of>>> keys;
  RecentlyFound of(keys);
  for (const Valued<Of>& row : rows) of(row.of).push_back(row);
  rows.clear();
  for (auto& [key, of_key] : keys) {
    sort_and_fold(of_key);
    rows.insert(rows.end(), of_key.begin(), of_key.end());
    of_key = {};
  }
}

/// Collective. Takes the rows; returns the spreads of this worker's slice.
template <class Of>
std::vector<SpreadOf<Of>> spreads(std::vector<Valued<Of>>& rows, const Comm& comm) {
  sort_and_fold_each(rows);
  const std::vector<Valued<Of>> mine =
      deal(std::exchange(rows, {}), comm, [](const auto& a, const auto& b) { return a.key() < b.key(); });
  std::vector<SpreadOf<Of>> out;
  for (const Valued<Of>& row : mine) {
    if (out.empty() || out.back().of != row.of) out.push_back({row.of, {}});
    out.back().spread.add(row.value_ns, row.count);
  }
  // A key goes on in another slice only if it is the first or the last of one.
  struct Share {
    Of of;
    std::int64_t worker = 0, count = 0;
  };
  std::vector<Share> shares;
  if (!out.empty()) shares.push_back({out.front().of, comm.worker(), out.front().spread.count});
  if (out.size() > 1) shares.push_back({out.back().of, comm.worker(), out.back().spread.count});
  shares = gather_all_rows(comm, shares);
  auto row = mine.begin();
  for (SpreadOf<Of>& at : out) {
    std::int64_t seen = 0, total = at.spread.count;
    for (const Share& share : shares) {
      if (share.of != at.of || share.worker == comm.worker()) continue;
      total += share.count;
      if (share.worker < comm.worker()) seen += share.count;
    }
    const auto numbers = Spread::numbers(total);
    for (; row != mine.end() && row->of == at.of; ++row) {
      for (std::size_t i = 0; i < numbers.size(); ++i)
        if (seen <= numbers[i] && numbers[i] < seen + row->count) at.spread.orders_ns[i] = row->value_ns;
      seen += row->count;
    }
  }
  return out;
}

}  // namespace ccl
