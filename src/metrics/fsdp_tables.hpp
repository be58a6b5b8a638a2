// The tables of fsdp: per (step, rank, device), per operation on the CPU, per module.
#pragma once
#include "metrics/format.hpp"
#include "metrics/fsdp_slices.hpp"
#include "metrics/metric.hpp"

namespace ccl {

struct FsdpRow {
  StepId step;
  RankId rank;
  std::int32_t device = 0, replica = -1;
  std::int64_t period_ns = 0, kernels_count = 0, communication_sum_ns = 0, communication_ns = 0, exposed_ns = 0;
  std::int64_t copy_sum_ns = 0, copy_ns = 0, stream_copy_ns = 0, overhead_ns = 0;
  std::int64_t gathers_count = 0, prefetched_count = 0, unmatched_count = 0, prefetch_calls_count = 0;
  std::int64_t gather_ns = 0, hidden_ns = 0, matched_gather_ns = 0, stall_ns = 0, inner_gather_ns = 0,
               inner_stall_ns = 0, cpu_self_ns = -1;
  auto key() const { return std::tuple(step, rank, device, replica); }
  static TableInfo table() { return {"rows", "FSDP in each step on each rank and device"}; }
  static std::vector<ColumnSpec<FsdpRow>> columns(const Resolver&) {
    std::vector<ColumnSpec<FsdpRow>> all = key_columns<FsdpRow>();
    const auto ns = [&](const char* name, std::int64_t FsdpRow::*member, const char* what) {
      all.push_back(column(name, member, "ns", what));
    };
    const auto count = [&](const char* name, std::int64_t FsdpRow::*member, const char* what) {
      all.push_back(column(name, member, "", what));
    };
    ns("period_ns", &FsdpRow::period_ns, "gap + GPU window of the step");
    count("kernels_count", &FsdpRow::kernels_count, "communication kernels of FSDP");
    ns("communication_sum_ns", &FsdpRow::communication_sum_ns, "sum of their durations");
    ns("communication_ns", &FsdpRow::communication_ns, "union of them");
    ns("exposed_ns", &FsdpRow::exposed_ns, "union of them without compute kernels");
    ns("copy_sum_ns", &FsdpRow::copy_sum_ns, "sum of GPU events launched in copy slices");
    ns("copy_ns", &FsdpRow::copy_ns, "union of them");
    ns("stream_copy_ns", &FsdpRow::stream_copy_ns, "union of those on the compute stream");
    ns("overhead_ns", &FsdpRow::overhead_ns, "union of exposed communication and copies on the compute stream");
    count("gathers_count", &FsdpRow::gathers_count, "all-gathers launched in FSDP::all_gather slices");
    count("prefetched_count", &FsdpRow::prefetched_count, "launched before the compute stream ran out of work");
    count("unmatched_count", &FsdpRow::unmatched_count, "without a copy-out: in no stall and no matched_gather_ns");
    count("prefetch_calls_count", &FsdpRow::prefetch_calls_count, "prefetch slices; on the rank's first device");
    ns("gather_ns", &FsdpRow::gather_ns, "sum of these all-gathers");
    ns("hidden_ns", &FsdpRow::hidden_ns, "sum over all-gathers of what lies under compute");
    ns("matched_gather_ns", &FsdpRow::matched_gather_ns, "sum of the all-gathers with a copy-out");
    ns("stall_ns", &FsdpRow::stall_ns, "compute stream idle until the copy-out starts, within the all-gather");
    ns("inner_gather_ns", &FsdpRow::inner_gather_ns, "matched_gather_ns without the first of forward and of backward");
    ns("inner_stall_ns", &FsdpRow::inner_stall_ns, "stall_ns without them");
    all.push_back(column("cpu_self_ns", &FsdpRow::cpu_self_ns, "ns",
                         "self time of FSDP slices on the CPU; on the rank's first device", -1));
    return all;
  }
};

struct FsdpByOp {
  StepId step;
  RankId rank;
  std::int32_t replica = -1;
  FsdpOp op = FsdpOp::other;
  std::int64_t slices_count = 0, self_ns = 0;
  auto key() const { return std::tuple(step, rank, replica, op); }
  static TableInfo table() { return {"by_op", "host work of FSDP by operation"}; }
  static std::vector<ColumnSpec<FsdpByOp>> columns(const Resolver&) {
    std::vector<ColumnSpec<FsdpByOp>> all = key_columns<FsdpByOp>();
    all.push_back(column("op", &FsdpByOp::op, "", "operation of the slice"));
    all.push_back(column("slices_count", &FsdpByOp::slices_count, "", "slices that began in the CPU step"));
    all.push_back(column("self_ns", &FsdpByOp::self_ns, "ns", "their time without FSDP slices within"));
    return all;
  }
};

struct FsdpByModule {
  StepId step;
  RankId rank;
  std::int32_t device = 0, replica = -1;
  StringId module;
  std::int64_t gathers_count = 0, gather_ns = 0, reduce_ns = 0, copy_ns = 0, stall_ns = 0, cpu_self_ns = 0;
  auto key() const { return std::tuple(step, rank, device, replica, module); }
  static TableInfo table() { return {"layers", "FSDP by module, as its slices name it"}; }
  static std::vector<ColumnSpec<FsdpByModule>> columns(const Resolver& resolver) {
    std::vector<ColumnSpec<FsdpByModule>> all = key_columns<FsdpByModule>();
    all.push_back(
        text_column<FsdpByModule>("module", "text in the slice's parentheses, or behind ' for '",
                                  [text = resolver.text](const FsdpByModule& row) { return text(row.module); }));
    all.push_back(column("gathers_count", &FsdpByModule::gathers_count, "", "all-gathers with a copy-out"));
    all.push_back(column("gather_ns", &FsdpByModule::gather_ns, "ns", "sum of all-gather kernels"));
    all.push_back(column("reduce_ns", &FsdpByModule::reduce_ns, "ns", "sum of reduce-scatter and all-reduce kernels"));
    all.push_back(column("copy_ns", &FsdpByModule::copy_ns, "ns", "sum of copies"));
    all.push_back(column("stall_ns", &FsdpByModule::stall_ns, "ns", "compute stream idle for its all-gathers"));
    all.push_back(column("cpu_self_ns", &FsdpByModule::cpu_self_ns, "ns", "self time on the CPU; first device"));
    return all;
  }
};

}  // namespace ccl
