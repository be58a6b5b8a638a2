// Execution traces of PyTorch (PARAM and Chakra schema): no times, but what every communication call was given. In: the
// file of one rank. Out: its communication calls in order, and their arguments laid over a Kineto trace that lacks
// them.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "core/problems.hpp"
#include "core/tables.hpp"
#include "discover/discover.hpp"
#include "parse/trace_reader.hpp"

namespace ccl {

struct RecordedCommunication {
  std::int64_t node = -1;  // order of the calls
  CollectiveOp op = CollectiveOp::unknown;
  Dtype dtype = Dtype::unknown;
  std::int64_t in_elements = -1, out_elements = -1;
  std::vector<std::int64_t> in_splits, out_splits;
  std::string group_name, group_description;
  std::int64_t group_handle = -1;  // of the older schema: equal for calls in one group
  std::int32_t group_size = -1;
  std::int64_t first_rank = -1, rank_stride = -1;  // of the group's members
};

/// Calls that communicate, by node number; waits are left out. Damaged nodes are passed over.
std::vector<RecordedCommunication> read_execution_trace(std::string_view text);
/// The same of a file, gzip or not; a Problem when it cannot be read.
std::vector<RecordedCommunication> read_execution_trace(const TraceFile& file, const ReadOptions& options,
                                                        Problems& problems);

/// Gives the collectives of a trace without communication arguments those of the calls, first launch to first call.
/// Only if both lists agree in length and operations; false (and nothing changed) if not, or if the trace has
/// arguments.
bool supply_communication(const std::vector<RecordedCommunication>& calls, RankTrace& trace);

}  // namespace ccl
