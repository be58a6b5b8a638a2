// Rows dealt to the threads that run side by side.
#pragma once
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "core/processors.hpp"

namespace ccl {

/// Rows [begin, end).
struct Share {
  std::size_t begin = 0, end = 0;
};

/// Equal ones for the calling thread and one more for each of the lent sets of processors.
inline std::vector<Share> shares_of(std::size_t count, std::span<const Processors> lent) {
  const std::size_t shares_count = lent.size() + 1;
  std::vector<Share> shares(shares_count);
  for (std::size_t i = 0; i < shares_count; ++i)
    shares[i] = {count * i / shares_count, count * (i + 1) / shares_count};
  return shares;
}

/// use(number of the share), side by side.
template <class Use>
void for_each_share(const std::vector<Share>& shares, std::span<const Processors> lent, Use use) {
  std::vector<std::function<void()>> tasks;
  for (std::size_t i = 0; i < shares.size(); ++i) tasks.emplace_back([&use, i] { use(i); });
  side_by_side(lent, tasks);
}

/// What use(share) returns, by share: side by side, of equal shares of the rows.
template <class Use>
auto results_of_shares(std::size_t count, std::span<const Processors> lent, Use use) {
  const std::vector<Share> shares = shares_of(count, lent);
  std::vector<decltype(use(shares.front()))> results(shares.size());
  for_each_share(shares, lent, [&](std::size_t i) { results[i] = use(shares[i]); });
  return results;
}

}  // namespace ccl
