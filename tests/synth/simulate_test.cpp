// Properties every simulated job must have, over schedules, meshes and many small random jobs.
#include "simulate.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "kineto_file.hpp"
#include "random.hpp"
#include "truth_values.hpp"

namespace synth {
namespace {

Job small(Mesh mesh, Schedule schedule = Schedule::one_f_one_b) {
  Job job = preset("tiny");
  job.faults.clear();
  job.mesh = mesh;
  job.schedule = schedule;
  job.steps = 2;
  job.microbatches = 2 * mesh.pp;
  job.model.layers = 2 * mesh.pp;
  return job;
}

Job random_job(std::uint64_t seed) {
  const auto pick = [&](int what, std::initializer_list<int> choices) {
    return *(choices.begin() + draw(seed, what) % choices.size());
  };
  Mesh mesh{pick(1, {1, 2, 4}), pick(2, {1, 1, 2}), pick(3, {1, 2, 4}), pick(4, {1, 1, 2}), pick(5, {1, 2}), 1};
  Job job = small(mesh, static_cast<Schedule>(draw(seed, 6) % 6));
  if (is_v_shaped(job.schedule) && mesh.pp < 2) job.schedule = Schedule::combined;
  if (draw(seed, 12) % 2 == 0) job.layout = Layout::megatron;
  if (draw(seed, 7) % 3 == 0) {
    job.model.experts = 8;
    job.mesh.ep = mesh.sharded();
  }
  job.seed = seed;
  job.tensor_parallel = static_cast<TensorParallel>(draw(seed, 8) % 2);
  job.data_parallel = static_cast<DataParallel>(draw(seed, 9) % 3);
  job.recompute = draw(seed, 10) % 2;
  check(job);
  return job;
}

Topology topology_of(const Job& job) { return make_topology(job.mesh, job.ranks_per_host, Naming::torchtitan); }

const Op& op_of(const Job& job, const JobRun& run, const Instance& instance,
                std::pair<std::int32_t, std::int32_t> member) {
  const RankRun& own = run.ranks[static_cast<std::size_t>(member.first)];
  const RankStep& step = own.steps[static_cast<std::size_t>(instance.step - job.first_step)];
  return own.ops[step.first_op + static_cast<std::size_t>(member.second)];
}

TEST(Simulate, MembersLeaveTogetherAndNotBeforeTheLastArrives) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    const Job job = random_job(seed);
    const JobRun run = simulate(job, topology_of(job));
    for (const Instance& instance : run.instances) {
      std::int64_t first_end = op_of(job, run, instance, instance.members[0]).end, last_end = first_end;
      for (const auto& member : instance.members) {
        const Op& op = op_of(job, run, instance, member);
        first_end = std::min(first_end, op.end), last_end = std::max(last_end, op.end);
        EXPECT_LE(op.start, instance.last_arrival);
      }
      ASSERT_GT(first_end, instance.last_arrival) << "seed " << seed;
      ASSERT_LE(last_end - first_end, job.end_skew_ns) << "seed " << seed;
    }
  }
}

TEST(Simulate, EveryOperationRunsAfterItsLaunchAndAfterWhatItNeeds) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    const Job job = random_job(seed);
    const JobRun run = simulate(job, topology_of(job));
    for (const RankRun& rank : run.ranks)
      for (const RankStep& step : rank.steps) {
        std::array<std::int64_t, queue_count> ends{};
        for (std::size_t i = step.first_op; i < step.end_op; ++i) {
          const Op& op = rank.ops[i];
          ASSERT_GT(op.start, op.launch);
          ASSERT_GE(op.start, ends[op.queue]);
          ASSERT_GT(op.end, op.start);
          ends[op.queue] = op.end;
          for (const std::int32_t need : op.needs)
            if (need >= 0) {
              ASSERT_GE(op.start, rank.ops[step.first_op + static_cast<std::size_t>(need)].end);
            }
        }
      }
  }
}

TEST(Simulate, SendAndReceiveOfAMessageAreOfOneMicroBatch) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const Job job = random_job(seed);
    const Topology topology = topology_of(job);
    const JobRun run = simulate(job, topology);
    for (const Instance& instance : run.instances) {
      const Channel& channel = topology.channels[static_cast<std::size_t>(instance.channel)];
      if (channel.source < 0 || topology.groups[static_cast<std::size_t>(channel.group)].dimension != "pp") continue;
      const Op& one = op_of(job, run, instance, instance.members[0]);
      const Op& other = op_of(job, run, instance, instance.members[1]);
      ASSERT_EQ(one.microbatch, other.microbatch) << "seed " << seed;
      ASSERT_EQ(one.phase, other.phase) << "seed " << seed;
    }
  }
}

TEST(Simulate, BudgetsAddUp) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    const Job job = random_job(seed);
    const JobRun run = simulate(job, topology_of(job));
    for (std::size_t rank = 0; rank < run.ranks.size(); ++rank)
      for (const RankStep& step : run.ranks[rank].steps) {
        const Budget b = budget_of(run.ranks[rank], step, FileClock(job, static_cast<int>(rank)));
        ASSERT_EQ(b.compute + b.exposed() + b.memory_only + b.idle, b.gpu_end - b.gpu_start);
        ASSERT_LE(b.overlap, std::min(b.compute, b.communication));
      }
  }
}

TEST(Simulate, SlowRankIsLastAndHealthyStepsAreAsBefore) {
  Job job = small({1, 1, 4, 1, 1, 1});
  job.steps = 3;
  const std::vector<std::int64_t> healthy = step_periods(simulate(job, topology_of(job)));
  job.faults.push_back(parse_fault("slow_rank:rank=2,factor=1.5,from=" + std::to_string(job.first_step + 1)));
  const JobRun run = simulate(job, topology_of(job));
  const std::vector<std::int64_t> slowed = step_periods(run);
  EXPECT_EQ(slowed[0], healthy[0]);
  EXPECT_GT(static_cast<double>(slowed[1]), 1.3 * static_cast<double>(healthy[1]));
  std::vector<FileClock> clocks;
  for (int rank = 0; rank < 4; ++rank) clocks.emplace_back(job, rank);
  int last = 0, all = 0;
  for (const Instance& instance : run.instances)
    if (instance.op == Collective::reduce_scatter && instance.step > job.first_step) {
      ++all;
      last += words_of(job, run, instance, clocks).last_rank == 2;
    }
  EXPECT_GE(4 * last, 3 * all);  // not all: where the queue is busy, everyone is late
}

TEST(Simulate, ClocksOfHostsChangeNoDuration) {
  Job job = small({2, 1, 2, 1, 2, 1});
  job.clock_offset_ns = 0, job.clock_drift_ppb = 0;
  const JobRun run = simulate(job, topology_of(job));
  Job shifted = job;
  shifted.clock_offset_ns = 5'000'000;
  for (std::size_t rank = 0; rank < run.ranks.size(); ++rank) {
    const auto number = static_cast<int>(rank);
    const Budget one = budget_of(run.ranks[rank], run.ranks[rank].steps[1], FileClock(job, number));
    const Budget other = budget_of(run.ranks[rank], run.ranks[rank].steps[1], FileClock(shifted, number));
    EXPECT_EQ(one.communication, other.communication);
    EXPECT_EQ(one.idle, other.idle);
  }
}

std::string trace_text(const Job& job, const std::string& name) {
  const auto path = std::filesystem::temp_directory_path() / ("ccl_synth_" + name + std::to_string(::getpid()));
  const Topology topology = topology_of(job);
  write_kineto(job, topology, simulate(job, topology), {path.string(), 1, 0, job.steps, 2.5});
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  in.close();
  std::filesystem::remove(path);
  return text.str();
}

TEST(KinetoFile, SameSeedSameBytesOtherSeedOtherBytes) {
  Job job = small({1, 1, 2, 1, 2, 1});
  job.gzip = false;
  const std::string first = trace_text(job, "a");
  EXPECT_EQ(first, trace_text(job, "b"));
  job.seed = 2;
  EXPECT_NE(first, trace_text(job, "c"));
}

TEST(KinetoFile, NoiseBringsTheFileToItsSize) {
  Job job = small({1, 1, 2, 1, 2, 1});
  job.megabytes_per_rank = 2;
  const Topology topology = topology_of(job);
  const JobRun run = simulate(job, topology);
  FilePlan plan{"", 0, 0, job.steps, 0};
  plan.noise_per_op = noise_for_size(job, topology, run, plan);
  EXPECT_NEAR(static_cast<double>(write_kineto(job, topology, run, plan)), 2e6, 0.05e6);
}

TEST(Schedule, ZeroBubbleDoesEveryWeightGradientAfterItsBackward) {
  for (int stage = 0; stage < 4; ++stage) {
    int backwards = 0, weights = 0;
    for (const Action& action : order_of_work(Schedule::zero_bubble, stage, 4, 8, 1)) {
      backwards += action.work == Work::backward;
      weights += action.work == Work::weight;
      EXPECT_LE(weights, backwards);
    }
    EXPECT_EQ(weights, 8);
    EXPECT_EQ(backwards, 8);
  }
}

TEST(Faults, AreRefusedWithAReason) {
  EXPECT_THROW(parse_fault("slow_ranks:rank=1"), std::invalid_argument);
  EXPECT_THROW(parse_fault("slow_rank:host=1"), std::invalid_argument);
  EXPECT_THROW(parse_fault("slow_rank:rank=x"), std::invalid_argument);
}

TEST(Schedule, EveryScheduleDoesAllOfItsWorkInAnOrderThatCanRun) {
  for (const Schedule schedule : {Schedule::gpipe, Schedule::one_f_one_b, Schedule::interleaved, Schedule::zero_bubble,
                                  Schedule::combined, Schedule::dualpipev})
    for (int stage = 0; stage < 4; ++stage) {
      std::map<std::pair<int, int>, int> forwards, backwards, split, weights;  // (micro-batch, chunk) -> how often
      bool joined = false;
      for (const Action& action : order_of_work(schedule, stage, 4, 12, 2)) {
        const std::pair<int, int> of{action.microbatch, action.chunk};
        ASSERT_TRUE(!joined || action.work == Work::backward) << "a woven forward has its backward behind it";
        joined = action.joined;
        if (action.work == Work::forward) ++forwards[of];
        if (action.work == Work::backward) {
          ASSERT_EQ(forwards[of], 1);
          ++backwards[of], split[of] += action.split ? 1 : 0;
        }
        if (action.work == Work::weight) {
          ASSERT_EQ(split[of], 1);
          ++weights[of];
        }
      }
      EXPECT_FALSE(joined);
      const bool chunks = schedule == Schedule::interleaved || schedule == Schedule::combined || is_v_shaped(schedule);
      EXPECT_EQ(forwards.size(), chunks ? 24u : 12u);
      EXPECT_EQ(forwards, backwards);
      for (const auto& [of, count] : split) EXPECT_EQ(weights[of], count);
    }
}

}  // namespace
}  // namespace synth
