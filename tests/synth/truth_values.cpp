#include "truth_values.hpp"

#include <algorithm>

#include "messages.hpp"
#include "simulate.hpp"

namespace synth {

Budget budget_of(const RankRun& rank, const RankStep& step, const FileClock& clock) {
  struct Edge {
    std::int64_t at;
    int kind, change;  // kind 0 compute, 1 communication, 2 memory
  };
  std::vector<Edge> edges;
  Budget b;
  b.gpu_start = clock.file_ns(rank.ops[step.first_op].start), b.gpu_end = b.gpu_start;
  for (std::size_t i = step.first_op; i < step.end_op; ++i) {
    const Op& op = rank.ops[i];
    const std::int64_t start = clock.file_ns(op.start), end = clock.file_ns(op.end);
    const bool memory = op.kernel == Kernel::copy_to_device || op.kernel == Kernel::clear;
    const int kind = op.instance >= 0 ? 1 : memory ? 2 : 0;
    edges.push_back({start, kind, 1});
    edges.push_back({end, kind, -1});
    b.gpu_start = std::min(b.gpu_start, start), b.gpu_end = std::max(b.gpu_end, end);
    ++b.gpu_events;
    b.kernels += memory ? 0 : 1;
    b.communication_kernels += op.instance >= 0;
    if (op.instance >= 0) b.communication_sum += end - start;
  }
  std::sort(edges.begin(), edges.end(), [](const Edge& x, const Edge& y) { return x.at < y.at; });
  std::array<int, 3> active{};
  std::int64_t before = b.gpu_start;
  for (const Edge& edge : edges) {
    const std::int64_t passed = edge.at - before;
    if (active[0] > 0) b.compute += passed;
    if (active[1] > 0) b.communication += passed;
    if (active[0] > 0 && active[1] > 0) b.overlap += passed;
    if (active[2] > 0 && active[0] == 0 && active[1] == 0) b.memory_only += passed;
    if (active[0] + active[1] + active[2] == 0) b.idle += passed;
    active[static_cast<std::size_t>(edge.kind)] += edge.change;
    before = edge.at;
  }
  b.busy = b.gpu_end - b.gpu_start - b.idle;
  return b;
}

bool is_visible(const Job& job, int rank, int step) {
  if (is_missing(job.faults, rank) || find_fault(job.faults, "cpu_only", rank)) return false;
  const Fault* window = find_fault(job.faults, "window", rank);
  return !window || window->active(step);
}

Words words_of(const Job& job, const JobRun& run, const Instance& instance, const std::vector<FileClock>& clocks) {
  Words w;
  auto members = instance.members;
  std::sort(members.begin(), members.end());
  std::vector<std::int64_t> starts, ends, file_starts;
  for (const auto& [rank, index] : members) {
    if (!is_visible(job, rank, instance.step)) continue;
    const RankRun& own = run.ranks[static_cast<std::size_t>(rank)];
    const FileClock& clock = clocks[static_cast<std::size_t>(rank)];
    const RankStep& step = own.steps[static_cast<std::size_t>(instance.step - job.first_step)];
    const Op& op = own.ops[step.first_op + static_cast<std::size_t>(index)];
    w.ranks.push_back(rank);
    w.durations.push_back(clock.file_ns(op.end) - clock.file_ns(op.start));
    starts.push_back(op.start), ends.push_back(op.end), file_starts.push_back(clock.file_ns(op.start));
  }
  if (w.ranks.size() < 2) return w;
  const auto spread = [](const std::vector<std::int64_t>& v) {
    return *std::max_element(v.begin(), v.end()) - *std::min_element(v.begin(), v.end());
  };
  w.start_spread = spread(starts), w.end_spread = spread(ends), w.start_spread_file = spread(file_starts);
  if (!is_symmetric(instance.op)) return w;
  const auto least = std::min_element(w.durations.begin(), w.durations.end());
  const auto most = std::max_element(w.durations.begin(), w.durations.end());
  w.transfer = *least, w.lag = *most - *least;
  w.last_rank = w.ranks[static_cast<std::size_t>(least - w.durations.begin())];
  w.first_rank = w.ranks[static_cast<std::size_t>(most - w.durations.begin())];
  auto sorted = w.durations;
  std::sort(sorted.begin(), sorted.end());
  w.delay = sorted[1] - sorted[0];
  w.tie = w.delay == 0;
  for (const std::int64_t d : w.durations) w.wait_sum += d - w.transfer;
  return w;
}

std::map<std::pair<std::string, std::string>, Traffic> traffic_of(const Job& job, const Topology& topology,
                                                                  const JobRun& run, int rank, const RankStep& step,
                                                                  const FileClock& clock) {
  std::map<std::pair<std::string, std::string>, Traffic> rows;
  const RankRun& own = run.ranks[static_cast<std::size_t>(rank)];
  for (std::size_t i = step.first_op; i < step.end_op; ++i) {
    const Op& op = own.ops[i];
    if (op.instance < 0) continue;
    const Instance& instance = run.instances[static_cast<std::size_t>(op.instance)];
    const Channel& channel = topology.channels[static_cast<std::size_t>(instance.channel)];
    const Group& group = topology.groups[static_cast<std::size_t>(channel.group)];
    const auto members = static_cast<int>(group.members.size());
    const auto position =
        static_cast<int>(std::find(group.members.begin(), group.members.end(), rank) - group.members.begin());
    const Volume volume = volume_of(job, instance, members, op.collective, position);
    Traffic& row = rows[{group.dimension, text_of(op.collective)}];
    ++row.calls;
    row.in_bytes += volume.in_bytes, row.out_bytes += volume.out_bytes;
    row.payload_bytes += payload_bytes(op.collective, volume);
    row.wire_bytes += wire_bytes(job, instance, members, op.collective, volume, position);
    row.sum_ns += clock.file_ns(op.end) - clock.file_ns(op.start);
  }
  return rows;
}

std::vector<std::int64_t> step_periods(const JobRun& run) {
  std::vector<std::int64_t> periods;
  for (std::size_t s = 0; s < run.ranks[0].steps.size(); ++s) {
    std::int64_t start = run.ranks[0].ops[run.ranks[0].steps[s].first_op].start, end = start;
    for (const RankRun& rank : run.ranks)
      for (std::size_t i = rank.steps[s].first_op; i < rank.steps[s].end_op; ++i)
        start = std::min(start, rank.ops[i].start), end = std::max(end, rank.ops[i].end);
    periods.push_back(end - start);
  }
  return periods;
}

std::map<std::string, std::vector<std::int64_t>> hidden_periods_of(const Job& job, const Topology& topology) {
  std::map<std::string, std::vector<std::int64_t>> periods;
  for (const Group& group : topology.groups) {
    if (group.members.size() < 2 || periods.count(group.dimension) > 0) continue;
    Job instant = job;
    instant.instant_dimension = group.dimension;
    periods[group.dimension] = step_periods(simulate(instant, topology));
  }
  return periods;
}

bool changes_time(const Fault& fault) {
  return fault.kind == "slow_rank" || fault.kind == "late_launch" || fault.kind == "slow_link" ||
         fault.kind == "slow_host" || fault.kind == "gc_pause";
}

}  // namespace synth
