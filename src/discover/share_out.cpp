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
  std::int64_t total_bytes = 0;
  for (const TraceFile& file : files) total_bytes += file.bytes;
  const std::int64_t fair_bytes = std::max<std::int64_t>(1, total_bytes / num_workers);
  for (const std::size_t i : longest_first) {
    const bool ranks_apart = files[i].format == TraceFormat::nsys_sqlite;
    const bool bytes_apart =
        files[i].format == TraceFormat::kineto && !files[i].gzip && files[i].bytes >= smallest_split_bytes;
    const std::int64_t wanted = ranks_apart || bytes_apart ? (files[i].bytes + fair_bytes - 1) / fair_bytes : 1;
    const std::int64_t parts = std::clamp<std::int64_t>(wanted, 1, num_workers);
    std::vector<Load> readers;
    for (std::int64_t part = 0; part < parts; ++part) {
      readers.push_back(loads.top());
      loads.pop();
    }
    files[i].owner = readers.front().second;
    files[i].readers.clear();
    for (const auto& [bytes, worker] : readers) {
      if (parts > 1) files[i].readers.push_back(worker);
      loads.emplace(bytes + std::max<std::int64_t>(files[i].bytes / parts, 1), worker);
    }
  }
}

}  // namespace ccl
