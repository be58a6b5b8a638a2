// How long a step's operations would take if they ran as their peers do. Pure. In: a StepGraph, its measured times
// and who is whose peer. Out: ideal GraphTimes for the replay. Cost: a sort of the operations, once per step.
#pragma once
#include <cstdint>
#include <vector>

#include "exchange/measured_graph.hpp"

namespace ccl {

/// median: of an even number the lower one of the two, so that of two peers the slower one is the odd one out.
/// mean: the published form, mean for compute and plain median for communication.
enum class IdealForm : std::uint8_t { median, mean };

/// By operation the number of its class; operations of one class are peers. -1: stays as measured.
struct Peers {
  std::vector<std::int32_t> run;       // compute
  std::vector<std::int32_t> transfer;  // communication
  std::vector<std::int32_t> launch;    // what the CPU takes from launch to launch, and first gaps: at most the lower median
};
/// The peers of a trace. Compute and launches: the ranks of one pipeline stage have the operation with the same name
/// and number on the device. Complete communication: the same operation, dimension, group size and bytes, and
/// within a host or between hosts alike. stage_of_row, host_of_row: by row of /ranks, -1 = no pipeline, not known; without
/// hosts all links are alike.
Peers peers_of(const MeasuredGraph& graph, const std::vector<std::int32_t>& stage_of_row,
               const std::vector<std::int32_t>& host_of_row = {});

GraphTimes ideal_times(const MeasuredGraph& graph, const Peers& peers, IdealForm form);

}  // namespace ccl
