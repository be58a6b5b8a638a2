#include "simulate.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>

#include "messages.hpp"
#include "program.hpp"
#include "random.hpp"

namespace synth {
namespace {

constexpr std::int64_t launch_latency_ns = 5'000;  // from the end of the CPU call to the earliest start
constexpr std::int64_t kernel_gap_ns = 900;        // between two kernels of one queue

class Simulator {
 public:
  Simulator(const Job& job, const Topology& topology)
      : job_(job),
        topology_(topology),
        ranks_(static_cast<std::size_t>(job.mesh.world())),
        sequences_(topology.groups.size() + topology.channels.size(), 0) {
    run_.ranks.resize(ranks_.size());
    for (std::size_t r = 0; r < ranks_.size(); ++r)
      ranks_[r].cpu = 1'000'000 + grain(between(draw(job.seed, 1, r), 0, 60'000));
  }

  JobRun run() {
    for (int step = job_.first_step; step < job_.first_step + job_.steps; ++step) run_step(step);
    return std::move(run_);
  }

 private:
  struct Rank {
    std::int64_t cpu = 0;
    std::array<std::int64_t, queue_count> ready{};               // end of the last operation of the queue
    std::array<std::vector<std::int32_t>, queue_count> waiting;  // this step's operations, in order
    std::array<std::size_t, queue_count> at{};
    std::vector<char> ended, registered;
    std::size_t left = 0;
    std::int32_t waited_for = -1;
  };

  std::int64_t grain(std::int64_t ns) const { return ns / job_.time_grain_ns() * job_.time_grain_ns(); }
  Op* ops_of(std::size_t rank) { return run_.ranks[rank].ops.data() + run_.ranks[rank].steps.back().first_op; }

  void run_step(int step) {
    places_.clear();
    for (std::size_t r = 0; r < ranks_.size(); ++r) start_step(r, step);
    for (std::size_t r = 0; r < ranks_.size(); ++r) active_.push_back(r);
    while (!active_.empty()) {
      const std::size_t r = active_.back();
      active_.pop_back();
      advance(r);
    }
    for (std::size_t r = 0; r < ranks_.size(); ++r) end_step(r);
  }

  void start_step(std::size_t r, int step) {
    Rank& rank = ranks_[r];
    RankRun& out = run_.ranks[r];
    meetings_.clear();
    Program program = make_program(job_, topology_, static_cast<int>(r), step, meetings_);
    RankStep bounds;
    bounds.first_op = out.ops.size(), bounds.first_span = out.spans.size();
    bounds.cpu_start = rank.cpu;
    rank.cpu += launch_delay_ns(job_.faults, static_cast<int>(r), step) + grain(15'000);
    // Parameters of this step are those the optimizer left behind, on whatever queue they are read.
    const std::int64_t ready = *std::max_element(rank.ready.begin(), rank.ready.end());
    for (std::size_t q = 0; q < queue_count; ++q) rank.ready[q] = ready, rank.waiting[q].clear(), rank.at[q] = 0;
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
      Op& op = program.ops[i];
      launch(op, rank, static_cast<int>(r), step, i);
      if (op.instance >= 0) op.instance = instance_of(meetings_[static_cast<std::size_t>(op.instance)], step);
      rank.waiting[op.queue].push_back(static_cast<std::int32_t>(i));
    }
    rank.ended.assign(program.ops.size(), 0);
    rank.registered.assign(program.ops.size(), 0);
    rank.left = program.ops.size();
    rank.waited_for = program.waited_for;
    out.ops.insert(out.ops.end(), program.ops.begin(), program.ops.end());
    out.spans.insert(out.spans.end(), program.spans.begin(), program.spans.end());
    bounds.end_op = out.ops.size(), bounds.end_span = out.spans.size();
    out.steps.push_back(bounds);
  }

  void launch(Op& op, Rank& rank, int r, int step, std::size_t i) {
    rank.cpu += pause_ns(job_.faults, r, step, static_cast<int>(i));
    const double factor = launch_factor(job_.faults, r, step);
    const auto cost = [&](int what, std::int64_t low, std::int64_t high) {
      const auto ns = between(draw(job_.seed, what, r, step, i), low, high);
      return std::max(job_.time_grain_ns(), grain(static_cast<std::int64_t>(static_cast<double>(ns) * factor)));
    };
    op.cpu_start = rank.cpu;
    op.launch = op.cpu_start + cost(21, 9'000, 16'000);
    op.cpu_end = op.launch + cost(22, 8'000, 12'000);
    rank.cpu = op.cpu_end + cost(23, 1'000, 3'000);
  }

  std::int32_t instance_of(const Meeting& meeting, int step) {
    const auto [at, is_new] =
        places_.try_emplace({meeting.channel, meeting.ordinal}, static_cast<std::int32_t>(run_.instances.size()));
    if (is_new) {
      Instance instance;
      instance.channel = meeting.channel, instance.step = step;
      instance.sequence = ++sequences_[static_cast<std::size_t>(meeting.channel)];
      instance.op = meeting.op, instance.type = meeting.type;
      instance.in_elements = meeting.in_elements, instance.out_elements = meeting.out_elements;
      instance.row_elements = meeting.row_elements;
      run_.instances.push_back(std::move(instance));
    }
    Instance& instance = run_.instances[static_cast<std::size_t>(at->second)];
    // The two sides of a pair each know one of the sizes.
    instance.in_elements = std::max(instance.in_elements, meeting.in_elements);
    instance.out_elements = std::max(instance.out_elements, meeting.out_elements);
    return at->second;
  }

  void advance(std::size_t r) {
    bool moved = true;
    while (moved) {
      moved = false;
      for (std::size_t q = 0; q < queue_count; ++q)
        while (try_head(r, q)) moved = true;
    }
  }

  /// True if the first waiting operation of the queue has ended.
  bool try_head(std::size_t r, std::size_t q) {
    Rank& rank = ranks_[r];
    if (rank.at[q] == rank.waiting[q].size()) return false;
    const std::int32_t index = rank.waiting[q][rank.at[q]];
    Op* ops = ops_of(r);
    Op& op = ops[index];
    if (rank.registered[static_cast<std::size_t>(index)]) return false;
    std::int64_t arrival = std::max(op.launch + launch_latency_ns, rank.ready[q] + kernel_gap_ns);
    for (const std::int32_t need : op.needs) {
      if (need < 0) continue;
      if (!rank.ended[static_cast<std::size_t>(need)]) return false;
      arrival = std::max(arrival, ops[need].end + kernel_gap_ns);
    }
    op.start = grain(arrival + job_.time_grain_ns() - 1);
    if (op.instance < 0) {
      end_op(r, index, op.start + std::max(job_.time_grain_ns(), grain(op.duration)));
      return true;
    }
    rank.registered[static_cast<std::size_t>(index)] = 1;
    return meet(r, index);
  }

  /// True if r was the last to arrive, so that all members end.
  bool meet(std::size_t r, std::int32_t index) {
    const Op& op = ops_of(r)[index];
    Instance& instance = run_.instances[static_cast<std::size_t>(op.instance)];
    instance.members.emplace_back(static_cast<std::int32_t>(r), index);
    instance.last_arrival = std::max(instance.last_arrival, op.start);
    const Channel& channel = topology_.channels[static_cast<std::size_t>(instance.channel)];
    if (instance.members.size() < static_cast<std::size_t>(channel.members_count)) return false;
    const std::int64_t end = instance.last_arrival + transfer_ns(job_, topology_, instance);
    for (const auto& [member, its] : instance.members) {
      const std::int64_t skew =
          between(draw(job_.seed, 31, instance.channel, instance.sequence, member), 0, job_.end_skew_ns);
      end_op(static_cast<std::size_t>(member), its, grain(end + skew + job_.time_grain_ns() - 1));
      if (static_cast<std::size_t>(member) != r) active_.push_back(static_cast<std::size_t>(member));
    }
    return true;
  }

  void end_op(std::size_t r, std::int32_t index, std::int64_t end) {
    Rank& rank = ranks_[r];
    Op& op = ops_of(r)[index];
    op.end = end;
    rank.ready[op.queue] = end;
    rank.ended[static_cast<std::size_t>(index)] = 1;
    ++rank.at[op.queue];
    --rank.left;
  }

  void end_step(std::size_t r) {
    Rank& rank = ranks_[r];
    if (rank.left != 0)
      throw std::logic_error("rank " + std::to_string(r) + " can not go on: the planted schedule deadlocks");
    RankStep& bounds = run_.ranks[r].steps.back();
    if (rank.waited_for >= 0) rank.cpu = std::max(rank.cpu, ops_of(r)[rank.waited_for].end + grain(4'000));
    bounds.cpu_end = rank.cpu + grain(9'000);
    rank.cpu = bounds.cpu_end + grain(between(draw(job_.seed, 2, r, run_.ranks[r].steps.size()), 5'000, 30'000));
  }

  const Job& job_;
  const Topology& topology_;
  JobRun run_;
  std::vector<Rank> ranks_;
  std::vector<std::int32_t> sequences_;
  std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> places_;  // (channel, ordinal in step) -> instance
  std::vector<Meeting> meetings_;
  std::vector<std::size_t> active_;
};

}  // namespace

JobRun simulate(const Job& job, const Topology& topology) { return Simulator(job, topology).run(); }

}  // namespace synth
