#include "parse/message_sizes.hpp"

#include <algorithm>

#include "core/collective_math.hpp"
#include "core/wording.hpp"

namespace ccl {
namespace {

constexpr std::int64_t most_ranks = std::int64_t{1} << 20;  // of a run whose size the trace does not tell
constexpr std::int64_t cut_list = 30;                       // PyTorch writes no more members of a group
constexpr std::int64_t most_known_bytes = std::int64_t{1} << 43;  // of a GPU whose memory the trace does not tell

/// By the list of its members; −1: there is none.
std::int32_t known_size(const ProcessGroup& group, std::int64_t most) {
  const std::int64_t members = std::ssize(group.members);
  return members == 0 || members > most ? -1 : static_cast<std::int32_t>(members);
}

/// Elements of In by those of Out, or of Out by those of In; −1: unknown.
std::int64_t from_other(const Collective& row, std::int64_t other, bool is_in) {
  if (other < 0) return -1;
  const std::int64_t n = row.group_size;
  const auto all = [&] { return other > most_known_bytes / n ? -1 : other * n; };  // a wrong group size must not overflow
  switch (row.op) {
    case CollectiveOp::all_reduce: case CollectiveOp::all_to_all: case CollectiveOp::broadcast:
    case CollectiveOp::reduce: return other;
    case CollectiveOp::all_gather: return n < 1 ? -1 : is_in ? other / n : all();
    case CollectiveOp::reduce_scatter: return n < 1 ? -1 : is_in ? all() : other / n;
    default: return -1;
  }
}

void forget_impossible_groups(RankTrace& trace, const Problem& origin, Problems& problems) {
  std::int64_t most = trace.world_size > 0 ? trace.world_size : most_ranks;
  for (const ProcessGroup& group : trace.groups) most = std::max<std::int64_t>(most, std::ssize(group.members));
  std::int64_t count = 0;
  std::int32_t largest = 0;
  for (ProcessGroup& group : trace.groups)
    if (group.size > most) group.size = std::ssize(group.members) < cut_list ? known_size(group, most) : -1;
  for (Collective& row : trace.collectives) {
    if (row.group_size <= most) continue;
    ++count;
    largest = std::max(largest, row.group_size);
    row.group_size = row.group < trace.groups.size() ? trace.groups[row.group].size : -1;
  }
  if (count == 0) return;
  Problem problem = origin;
  problem.code = Code::inout_disagree;
  problem.count = count;
  problem.detail = "a group of " + std::to_string(largest) + " ranks";
  problem.detail += trace.world_size > 0 ? ", more than the " + std::to_string(most) + " of the run" : ", more than any run has";
  problems.add(std::move(problem));
}

}  // namespace

void forget_impossible_sizes(RankTrace& trace, const Problem& origin, Problems& problems) {
  forget_impossible_groups(trace, origin, problems);
  const std::int64_t most_bytes = trace.gpu_memory_bytes > 0 ? trace.gpu_memory_bytes : most_known_bytes;
  std::int64_t count = 0, largest_bytes = 0;
  CollectiveOp op{};
  constexpr std::int64_t largest_element_bytes = 16;
  const std::int64_t surely_fits = most_bytes / largest_element_bytes;
  for (Collective& row : trace.collectives) {
    if (row.in_elements <= surely_fits && row.out_elements <= surely_fits) continue;
    const std::int64_t in_bytes = row.in_bytes(), out_bytes = row.out_bytes();
    if (in_bytes <= most_bytes && out_bytes <= most_bytes) continue;
    ++count;
    if (std::max(in_bytes, out_bytes) > largest_bytes) largest_bytes = std::max(in_bytes, out_bytes), op = row.op;
    const std::int64_t in = in_bytes > most_bytes ? -1 : row.in_elements, out = out_bytes > most_bytes ? -1 : row.out_elements;
    row.in_elements = in_bytes > most_bytes ? from_other(row, out, true) : in;
    row.out_elements = out_bytes > most_bytes ? from_other(row, in, false) : out;
    if (row.in_bytes() > most_bytes) row.in_elements = -1;
    if (row.out_bytes() > most_bytes) row.out_elements = -1;
  }
  if (count == 0) return;
  Problem problem = origin;
  problem.code = Code::inout_disagree;
  problem.count = count;
  problem.detail = to_text(op);
  problem.detail += " of more than ";
  if (trace.gpu_memory_bytes > 0)
    problem.detail.append("the ").append(gigabytes(static_cast<double>(most_bytes))).append(" of its GPU");
  else
    problem.detail += "any GPU holds";
  problems.add(std::move(problem));
}

}  // namespace ccl
