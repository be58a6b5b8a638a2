// Forward passes of a serving engine, from the markers that vLLM and SGLang put around them, with what the GPU did in
// each. Local stage; shared by ttft and tpot.
#pragma once
#include <algorithm>
#include <string_view>
#include <vector>

#include "metrics/format.hpp"
#include "metrics/metric.hpp"

namespace ccl {

enum class PassKind : std::uint8_t { prefill, decode, mixed };
std::string_view to_text(PassKind kind);

/// What a marker's name says; −1 = it does not.
struct PassMarker {
  PassKind kind = PassKind::decode;
  bool kind_known = true;  // else: the first pass of a trace is its prefill
  std::int64_t prefill_requests_count = -1, prefill_tokens_count = -1;
  std::int64_t decode_requests_count = -1, decode_tokens_count = -1;
};
/// vLLM: execute_context_R(T)_generation_R(T), execute_model; SGLang: step[EXTEND bs=R toks=T], step[DECODE bs=R],
/// step[MIXED bs=R c=… g=…], step[TARGET_VERIFY bs=R], run_batch. False for any other name.
bool read_pass_marker(std::string_view name, PassMarker& marker);

/// One pass on one device of one rank.
struct PassRow {
  StepId step;
  RankId rank;
  std::int32_t device = 0, replica = -1;
  std::int64_t pass = 0;  // in order of time, from 0
  PassMarker marker;
  std::int64_t start_ns = 0, dur_ns = 0;
  std::int64_t gpu_end_ns = absent_ns;  // of what it launched
  std::int64_t communication_ns = 0, exposed_ns = 0, compute_ns = 0, busy_ns = 0, communication_count = 0;
  /// From the start of the marker until it and everything it launched has ended.
  std::int64_t whole_ns() const { return std::max(start_ns + dur_ns, gpu_end_ns) - start_ns; }
  auto key() const { return std::tuple(step.iteration, rank, device, replica, pass); }
  static TableInfo table() { return {"passes", "each forward pass on each rank and device"}; }
  static std::vector<ColumnSpec<PassRow>> columns(const Resolver&);
};

/// Passes that `wanted` accepts; their numbers count all passes.
void add_passes(const RankTrace& trace, bool (*wanted)(PassKind), std::vector<PassRow>& out);

/// One pass over all ranks: it takes as long as on the slowest.
struct PassLength {
  std::int32_t iteration = -1, replica = -1;
  std::int64_t pass = 0, dur_ns = 0, whole_ns = 0;
  std::int64_t start_ns = 0, tokens_count = 0;  // of the lowest rank
};
std::vector<PassLength> over_ranks(const std::vector<PassRow>& passes);

/// Adds the headlines communication_ratio and exposed_ratio of the time of the passes until their GPU work ended, the
/// table "rows" (sums by rank) and the long form; returns "communication 12.3 % of it, 4.5 % exposed".
/// Passes that lost GPU events with the damage of a file, which have none then, count in neither.
std::string report_communication(const std::vector<PassRow>& passes, const Ranks& ranks_of_run, Report& out);

}  // namespace ccl
