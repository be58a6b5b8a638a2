#include "discover/discover.hpp"

#include <algorithm>
#include <numeric>
#include <queue>

#include "discover/pack_input.hpp"
#include "discover/trace_files.hpp"
#include "parse/trace_reader.hpp"

namespace ccl {

Input discover(const Config& config, const Comm& comm, Problems& problems) {
  Bytes packed;
  together(comm, [&] {
    if (!comm.is_first()) return;
    Input found = find_input(
        config, [](TraceFormat format) { return make_reader(format) != nullptr; }, problems);
    share_out(found.files, comm.num_workers());
    packed = pack(found);
  });
  return unpack_input(comm.broadcast(std::move(packed)));
}

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
