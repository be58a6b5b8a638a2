// What is done with one finished trace while its events are in memory. In: the trace. Out: rows of metrics, and what
// of the trace is kept beyond it (LocalResults).
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "analyze.hpp"

namespace ccl {

struct TraceUse {
  const Input& input;
  const Config& config;
  const LocalContext& any_trace;
  Metrics& metrics;
  LocalResults& local;
  std::vector<std::vector<CollectiveRecord>>& records;  // by local trace number
  std::int32_t worker;
  bool keep_segments, keep_records, keep_chains, keep_events, mark_windows;

  /// Columns that no more is read of go on the way.
  void take(RankTrace& trace, std::int32_t file, std::span<const Processors> lent = {}) const;
};

}  // namespace ccl
