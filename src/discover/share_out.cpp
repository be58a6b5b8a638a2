#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>

#include "discover/discover.hpp"

namespace ccl {

void share_out(std::vector<TraceFile>& files, int num_workers) {
  std::vector<std::size_t> longest_first(files.size());
  std::iota(longest_first.begin(), longest_first.end(), std::size_t{0});
  std::stable_sort(longest_first.begin(), longest_first.end(),
                   [&](std::size_t a, std::size_t b) { return files[a].bytes > files[b].bytes; });
  using Load = std::pair<std::int64_t, std::int32_t>;  // bytes, worker
  std::priority_queue<Load, std::vector<Load>, std::greater<>> loads;
  for (std::int32_t worker = 0; worker < num_workers; ++worker) loads.emplace(0, worker);
  for (const std::size_t i : longest_first) {
    const auto [bytes, worker] = loads.top();
    loads.pop();
    files[i].owner = worker;
    loads.emplace(bytes + std::max<std::int64_t>(files[i].bytes, 1), worker);
  }
}

}  // namespace ccl
