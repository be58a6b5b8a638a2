// Classified GPU events that outlive their trace, for the event table (--events) and the timeline export
// (--timeline-json). In: a finished trace and its roles; out: rows of fixed size, settled with ranks once those are
// agreed on. 88 bytes a GPU event, kept only when asked for.
#pragma once
#include <cstdint>
#include <vector>

#include "comm/comm.hpp"
#include "core/ids.hpp"
#include "core/kinds.hpp"
#include "core/strings.hpp"
#include "core/tables.hpp"
#include "exchange/ranks.hpp"
#include "metrics/microbatches.hpp"

namespace ccl {

struct EventRow {
  std::int64_t start_ns = 0, dur_ns = 0;  // trace clock
  std::int64_t correlation = 0;
  std::int64_t step = outside_step;       // as the trace numbers it; settled: with the rank's step shift
  std::int64_t stream = 0;
  StringId name;
  std::int32_t rank_row = -1;             // row of /ranks, once settled
  std::int32_t device = 0;
  std::int32_t microbatch = -1, chunk = -1;
  std::int32_t record = -1;               // its collective among the trace's; settled: among the worker's
  std::int32_t group = -1;                // local group of its collective
  EventKind kind = EventKind::compute;
  TrainingPhase phase = TrainingPhase::unclassified;
  WorkCategory category = WorkCategory::unclassified;
  Evidence evidence = Evidence::none;
  Direction direction = Direction::forward;  // of its micro-batch
  CollectiveOp op = CollectiveOp::unknown;
  Dimension dimension = Dimension::unknown;
  std::uint8_t unused = 0;
  std::int64_t end_ns() const { return start_ns + dur_ns; }
};

/// In the order of the trace's events. strings gets the kernels' names.
std::vector<EventRow> event_rows(const RankTrace& trace, const EventRoles& roles, StringTable& strings);

/// Once the trace is a row of /ranks and its first collective's number among the worker's is known.
void settle_events(std::vector<EventRow>& rows, std::int32_t rank_row, const RankEntry& entry, std::size_t first_record);

/// Collective. Every worker's rows dealt out so that worker order is the order of /ranks, about as many on each; within
/// a rank by (start, device, stream, correlation). Cost: 88 bytes a row once over the wire.
std::vector<EventRow> in_rank_order(const std::vector<std::vector<EventRow>>& mine, const Comm& comm);

}  // namespace ccl
