// A metric of the dependency graph on hand-made steps of three ranks: 0 and 2 compute 100 ns, rank 1 as long as asked,
// then they reduce for 50 ns and compute 40 ns.
#pragma once
#include "exchange/graph_ops.hpp"
#include "metrics/all_metrics.hpp"
#include "support/small_run.hpp"

namespace ccl::test {

inline std::vector<MadeOp> three_ranks(std::int64_t slow_ns) {
  std::vector<MadeOp> ops;
  const auto add = [&](std::int32_t rank, std::int64_t start_ns, std::int64_t end_ns, const char* name) -> MadeOp& {
    return ops.emplace_back(op(rank, start_ns, end_ns, name));
  };
  for (const std::int32_t rank : {0, 1, 2}) {
    const std::int64_t ready_ns = rank == 1 ? slow_ns : 100;
    add(rank, 0, ready_ns, "gemm");
    MadeOp& reduce = add(rank, ready_ns, slow_ns + 50, "ncclDevKernel_AllReduce");
    reduce.kind = EventKind::communication;
    reduce.op = CollectiveOp::all_reduce;
    reduce.dimension = Dimension::dp;
    reduce.instance = 1;
    reduce.lane = 1;
    add(rank, slow_ns + 50, slow_ns + 90, "adam");
  }
  return ops;
}

/// What is known beside the operations; three ranks have traces.
struct GraphWorld {
  Config config;
  Ranks ranks;
  ClockModel clock;
};

inline MetricResult graph_result(const std::string& name, const std::vector<std::vector<MadeOp>>& steps,
                                 GraphWorld world = {}) {
  auto& [config, ranks, clock] = world;
  for (std::int32_t rank = 0; rank < 3; ++rank) {
    ranks.entries.emplace_back();
    ranks.entries.back().rank = RankId(rank);
  }
  const Groups groups;
  const Workload workload;
  StringTable strings;
  for (const char* text : {"gemm", "ncclDevKernel_AllReduce", "adam"}) strings.intern(text);
  const std::unique_ptr<Metric> metric = std::move(start_metrics({name}).front());
  std::int64_t number = 3;
  for (const std::vector<MadeOp>& ops : steps)
    metric->graph(graph_of(ops, {{-1, number++}, -1}), {config, workload, ranks, groups, clock, strings});
  Problems problems;
  const Resolver resolver{[&](StringId id) { return strings.text(id); },
                          [](GroupId) { return std::int64_t{-1}; }};
  return metric->result({config, workload, ranks, groups, clock, strings, problems}, resolver);
}

}  // namespace ccl::test
