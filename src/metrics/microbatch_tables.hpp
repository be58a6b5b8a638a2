// The tables of the metric microbatch.
#pragma once
#include "metrics/format.hpp"
#include "metrics/microbatches.hpp"
#include "metrics/metric.hpp"

namespace ccl {

/// Of one category in one micro-batch; microbatch −1: launched in none.
struct MicroBatchRow {
  StepId step;
  RankId rank;
  std::int32_t device = 0, replica = -1, microbatch = -1, chunk = -1;
  TrainingPhase phase = TrainingPhase::other;
  WorkCategory category = WorkCategory::other;
  std::int64_t events_count = 0, start_ns = 0, end_ns = 0, union_ns = 0, sum_ns = 0;
  auto key() const { return std::tuple(step, rank, device, replica, microbatch, chunk, phase, category); }
  static TableInfo table() {
    return {"rows", "GPU events of each category in each micro-batch; -1: launched in none"};
  }
  static std::vector<ColumnSpec<MicroBatchRow>> columns(const Resolver&) {
    using Row = MicroBatchRow;
    std::vector<ColumnSpec<Row>> all = key_columns<Row>();
    all.push_back(column("microbatch", &Row::microbatch, "", "number of the micro-batch within its step", -1));
    all.push_back(column("chunk", &Row::chunk, "", "virtual stage (model chunk) of the rank", -1));
    all.push_back(column("phase", &Row::phase, "", "what it was launched in"));
    all.push_back(column("category", &Row::category, "", "the one category of the events"));
    all.push_back(column("events_count", &Row::events_count, "", "GPU events"));
    all.push_back(column("start_ns", &Row::start_ns, "ns", "first start, clock of the trace"));
    all.push_back(column("end_ns", &Row::end_ns, "ns", "last end, clock of the trace"));
    all.push_back(integer_column<Row>("hull_ns", "ns", "end_ns - start_ns", {},
                                      [](const Row& row) { return row.end_ns - row.start_ns; }));
    all.push_back(column("union_ns", &Row::union_ns, "ns", "time in which at least one of them ran"));
    all.push_back(column("sum_ns", &Row::sum_ns, "ns", "summed durations"));
    return all;
  }
};

/// One direction of one micro-batch: compute against the communication of tensor, expert and context parallelism.
struct MicroBatchPhaseRow {
  StepId step;
  RankId rank;
  std::int32_t device = 0, replica = -1, microbatch = -1, chunk = -1;
  Direction direction = Direction::forward;
  NumberSource number_source = NumberSource::none;
  std::int64_t start_ns = 0, wall_ns = 0, compute_ns = 0, communication_ns = 0, overlap_ns = 0, recompute_ns = 0;
  auto key() const { return std::tuple(step, rank, device, replica, microbatch, chunk, direction); }
  static TableInfo table() { return {"by_phase", "forward, backward and weight part of each micro-batch"}; }
  static std::vector<ColumnSpec<MicroBatchPhaseRow>> columns(const Resolver&) {
    using Row = MicroBatchPhaseRow;
    std::vector<ColumnSpec<Row>> all = key_columns<Row>();
    all.push_back(column("microbatch", &Row::microbatch, "", "number of the micro-batch within its step", -1));
    all.push_back(column("chunk", &Row::chunk, "", "virtual stage (model chunk) of the rank", -1));
    all.push_back(column("direction", &Row::direction, "", "forward, backward (recompute included) or weight"));
    all.push_back(column("number_source", &Row::number_source, "", "how the micro-batch's number was found"));
    all.push_back(column("start_ns", &Row::start_ns, "ns", "first start, clock of the trace"));
    all.push_back(column("wall_ns", &Row::wall_ns, "ns", "first start to last end of compute and communication"));
    all.push_back(column("compute_ns", &Row::compute_ns, "ns", "union of compute kernels"));
    all.push_back(column("communication_ns", &Row::communication_ns, "ns",
                         "union of tensor, expert and context parallel communication"));
    all.push_back(column("overlap_ns", &Row::overlap_ns, "ns", "part of it under compute"));
    all.push_back(column("recompute_ns", &Row::recompute_ns, "ns", "union of recomputing kernels, part of compute_ns"));
    all.push_back(derived<Row>("compute_ratio", "", "compute_ns / wall_ns", [](const Row& row) {
      return ratio(static_cast<double>(row.compute_ns), static_cast<double>(row.wall_ns));
    }));
    all.push_back(derived<Row>("overlap_ratio", "", "overlap_ns / wall_ns", [](const Row& row) {
      return ratio(static_cast<double>(row.overlap_ns), static_cast<double>(row.wall_ns));
    }));
    return all;
  }
};

/// How much of one category of communication lies under the compute of one phase.
struct MicroBatchOverlapRow {
  StepId step;
  RankId rank;
  std::int32_t device = 0, replica = -1;
  WorkCategory communication = WorkCategory::other_communication;
  WorkCategory compute = WorkCategory::other;
  std::int64_t communication_ns = 0, overlap_ns = 0;
  auto key() const { return std::tuple(step, rank, device, replica, communication, compute); }
  static TableInfo table() { return {"overlap", "communication of each kind under the compute of each kind, by step"}; }
  static std::vector<ColumnSpec<MicroBatchOverlapRow>> columns(const Resolver&) {
    using Row = MicroBatchOverlapRow;
    std::vector<ColumnSpec<Row>> all = key_columns<Row>();
    all.push_back(column("communication", &Row::communication, "", "category of the communication"));
    all.push_back(column("compute", &Row::compute, "", "category of the compute"));
    all.push_back(column("communication_ns", &Row::communication_ns, "ns", "union of the communication"));
    all.push_back(column("overlap_ns", &Row::overlap_ns, "ns", "part of it under that compute"));
    return all;
  }
};

/// By what the phase of how many events was known.
struct MicroBatchEvidenceRow {
  StepId step;
  RankId rank;
  std::int32_t replica = -1;
  Evidence evidence = Evidence::none;
  std::int64_t events_count = 0, without_microbatch_count = 0, unclassified_count = 0;
  auto key() const { return std::tuple(step, rank, replica, evidence); }
  static TableInfo table() { return {"evidence", "by what the phase of how many GPU events is known"}; }
  static std::vector<ColumnSpec<MicroBatchEvidenceRow>> columns(const Resolver&) {
    using Row = MicroBatchEvidenceRow;
    std::vector<ColumnSpec<Row>> all = key_columns<Row>();
    all.push_back(column("evidence", &Row::evidence, "", "python, annotation, micro_batch, autograd, neighbour or none"));
    all.push_back(column("events_count", &Row::events_count, "", "GPU events of the step"));
    all.push_back(column("without_microbatch_count", &Row::without_microbatch_count, "", "of them in no micro-batch"));
    all.push_back(column("unclassified_count", &Row::unclassified_count, "", "of them unclassified"));
    return all;
  }
};

}  // namespace ccl
