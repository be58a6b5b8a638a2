// Results made by hand: two hosts, four ranks, one process group, some collectives and one metric with a table. `Run`
// owns what Results only refers to. Each worker takes its share of the collectives and of the timeline rows.
#pragma once
#include <memory>

#include "store/results.hpp"
#include "store/sample_rows.hpp"

namespace ccl::test {

struct Run {
  Config config;
  Input input;
  Ranks ranks;
  Groups groups;
  ClockModel clock;
  MatchedCollectives collectives;
  Problems problems;
  Timings timings;

  Results results() const { return {config, input, ranks, groups, clock, collectives, {}, {}, problems, timings}; }
};

inline RankEntry sample_rank(std::int32_t rank) {
  RankEntry entry;
  entry.rank = RankId(rank);
  entry.iteration = 10;
  entry.source = RankSource::content;
  entry.host_index = rank / 2;
  entry.host = "node" + std::to_string(rank / 2);
  entry.host_source = HostSource::content;
  entry.facts.file = rank;
  entry.facts.events_count = 100 + rank;
  entry.facts.world_size = 4;
  entry.facts.gpu = "NVIDIA H100";
  entry.facts.devices = {rank % 2};
  Step step;
  step.number = 9;
  step.start_ns = 1000;
  step.end_ns = 5000;
  step.devices = {{rank % 2, 1100, 5100, 50}};
  entry.facts.steps = {step};
  return entry;
}

/// Collectives number i = worker, worker + workers, …: what the owner of their group would hold.
inline MatchedCollectives sample_collectives(int worker, int workers, int count) {
  MatchedCollectives all;
  for (int i = worker; i < count; i += workers) {
    MatchedInstance instance;
    instance.group = GroupId(77);
    instance.iteration = 10;
    instance.step = 9;
    instance.sequence = (i * 37) % count;  // out of order
    instance.op = CollectiveOp::all_reduce;
    instance.dtype = Dtype::bfloat16;
    instance.group_size = 4;
    instance.members_seen = 4;
    instance.payload_bytes = 1024;
    instance.transfer_ns = 10 + i;
    instance.last_rank = i % 4;
    instance.first_member = static_cast<std::uint32_t>(all.members.size());
    for (std::int32_t rank = 0; rank < 4; ++rank) {
      MatchedMember member;
      member.rank_row = rank;
      member.rank = RankId(rank);
      member.start_ns = instance.sequence * 100 + rank;
      member.dur_ns = 40;
      member.wait_ns = rank;
      all.members.push_back(member);
    }
    all.instances.push_back(instance);
  }
  return all;
}

inline MetricResult sample_metric(const std::string& name = "sample_time") {
  MetricResult metric;
  metric.info.name = name;
  metric.info.unit = "ms";
  metric.info.question = "How long does it take?";
  metric.info.definition = "The time it takes.";
  metric.info.needs_matching = true;
  metric.report.ranks_covered = 4;
  metric.report.value("mean_ns", 12.5, "mean over steps");
  metric.report.value("p99_ns", NAN, "99th percentile");
  metric.report.note("worst_rank", "rank 3", "the slowest");
  metric.report.page = {"sample time   12.5 ns"};
  metric.report.vectors = {{"/timeline/iteration_10/bin_edges_ns", "edges of the bins", "ns", {0, 10, 20, 30}}};
  metric.tables = {sample_table(0, 30)};
  return metric;
}

inline Run sample_run(int worker = 0, int workers = 1, int instances = 50) {
  Run run;
  run.config.command_line = "ccl-analyze traces";
  run.input.root = "/somewhere/traces";
  run.input.run = "run1";
  run.input.workload.mesh.dp_shard = 2;
  run.input.workload.mesh.tp = 2;
  run.input.workload.mesh.source = "card";
  for (std::int32_t rank = 0; rank < 4; ++rank) {
    TraceFile file;
    file.shown = "iteration_10/rank" + std::to_string(rank) + "_trace.json";
    file.path = run.input.root + "/" + file.shown;
    file.format = TraceFormat::kineto;
    file.bytes = 1'000'000;
    run.input.files.push_back(file);
    run.ranks.entries.push_back(sample_rank(rank));
  }
  run.ranks.hosts = {"node0", "node1"};
  run.ranks.world_size = 4;
  run.ranks.expected = 5;
  run.ranks.missing = {4};
  Group group;
  group.id = GroupId(77);
  group.name = "0";
  group.description = "default_pg";
  group.size = 4;
  group.members = {0, 1, 2, 3};
  run.groups.groups = {group};
  run.clock.hosts = {{0, 0, 5, 100, true}, {1000, 0, 7, 100, true}};
  run.clock.reference_rank = 0;
  run.collectives = sample_collectives(worker, workers, instances);
  run.problems.add({.code = Code::missing_ranks, .rank = 4, .detail = "rank 4"});
  run.problems.add({.code = Code::file_cut, .rank = 1, .file = "iteration_10/rank1_trace.json", .offset = 99});
  run.timings.stages = {{"discover", 0.1, 0.1, 0}, {"analyze", 1.5, 1.4, 100}};
  run.timings.files = {{worker % 4, 0.5}};
  return run;
}

/// This worker's rows of the timeline: rows worker, worker + workers, … of four.
inline ResultMatrix sample_matrix(int worker, int workers) {
  ResultMatrix matrix{"/timeline/iteration_10/compute_ns", "time with compute", "ns", 3, 4, {}, {}};
  for (int row = worker; row < 4; row += workers) {
    matrix.row_numbers.push_back(row);
    for (int bin = 0; bin < 3; ++bin) matrix.values.push_back(row * 10 + bin);
  }
  return matrix;
}

}  // namespace ccl::test
