#include "kineto_file.hpp"

#include <algorithm>

#include "kineto_cpu.hpp"
#include "snapshot.hpp"

namespace synth {
namespace {

class KinetoFile {
 public:
  KinetoFile(const Job& job, const Topology& topology, const JobRun& run, const FilePlan& plan, TextFile& out)
      : job_(job),
        topology_(topology),
        run_(run),
        own_(run.ranks[static_cast<std::size_t>(plan.rank)]),
        plan_(plan),
        out_(out),
        events_(job, topology, run, plan.rank, out),
        cpu_(job, topology, run, plan.rank, plan.noise_per_op, events_),
        with_gpu_(find_fault(job.faults, "cpu_only", plan.rank) == nullptr) {
    for (int s = plan.first_step; s < plan.end_step; ++s) steps_.push_back(own_.steps[static_cast<std::size_t>(s)]);
    if (const Fault* window = find_fault(job.faults, "window", plan.rank)) {
      steps_.clear();
      for (int s = plan.first_step; s < plan.end_step; ++s)
        if (window->active(job.first_step + s))
          steps_.push_back(own_.steps[static_cast<std::size_t>(s)]), numbers_.push_back(s);
    } else {
      for (int s = plan.first_step; s < plan.end_step; ++s) numbers_.push_back(s);
    }
    if (const Fault* shift = find_fault(job.faults, "step_shift", plan.rank)) step_shift_ = shift->number("by", 2);
  }

  void write() {
    head();
    broken_events();
    each_op([&](const Op& op, const OpPlace& place) {
      if (!on_autograd_thread(job_, op)) return;
      cpu_.checkpoint_node(own_.ops, static_cast<std::size_t>(&op - own_.ops.data()), place);
      cpu_.around_launch(op, place);
    });
    each_step([&](const RankStep& step, const OpPlace& place, std::int64_t number) {
      cpu_.annotations(step, place, number);
    });
    each_op([&](const Op& op, const OpPlace& place) {
      if (!on_autograd_thread(job_, op)) cpu_.around_launch(op, place);
    });
    if (job_.memory_events) memory_events();
    if (with_gpu_) gpu_side();
    metadata();
    tail();
  }

 private:
  template <class Visit>
  void each_step(Visit visit) {
    std::int64_t period = 0;
    if (!run_.ranks.empty() && job_.repeat > 1) period = repeat_period_ns(job_, run_);
    std::int64_t number = 0;
    for (int block = 0; block < job_.repeat; ++block)
      for (std::size_t s = 0; s < steps_.size(); ++s) {
        visit(steps_[s], OpPlace{block * period, number},
              job_.first_step + numbers_[s] + std::int64_t{block} * job_.steps + step_shift_);
        number += static_cast<std::int64_t>(steps_[s].end_op - steps_[s].first_op);
      }
  }
  template <class Visit>
  void each_op(Visit visit) {
    each_step([&](const RankStep& step, OpPlace place, std::int64_t) {
      for (std::size_t i = step.first_op; i < step.end_op; ++i, ++place.number) visit(own_.ops[i], place);
    });
  }

  static std::int64_t repeat_period_ns(const Job&, const JobRun& run) {
    std::int64_t end = 0, start = run.ranks[0].steps.front().cpu_start;
    for (const RankRun& rank : run.ranks) {
      start = std::min(start, rank.steps.front().cpu_start);
      end = std::max(end, rank.steps.back().cpu_end);
      for (std::size_t i = rank.steps.back().first_op; i < rank.ops.size(); ++i) end = std::max(end, rank.ops[i].end);
    }
    return (end - start + 1'000'000) / 1'000'000 * 1'000'000;
  }

  void head() {
    const bool rocm = job_.style == Style::rocm;
    out_ << "\n  {\n    \"schemaVersion\": 1,\n    \"deviceProperties\": [\n";
    for (int d = 0; d < job_.ranks_per_host; ++d) {
      out_ << "    {\n      \"id\": " << d << ", \"name\": \""
           << (rocm ? "AMD Instinct MI300X" : "NVIDIA A100-SXM4-40GB")
           << "\", \"totalGlobalMem\": " << std::int64_t{rocm ? 206'141'652'992 : 42'297'786'368}
           << ",\n      \"computeMajor\": " << (rocm ? 9 : 8) << ", \"computeMinor\": " << (rocm ? 4 : 0)
           << ",\n      \"maxThreadsPerBlock\": 1024, \"maxThreadsPerMultiprocessor\": 2048,\n      \"regsPerBlock\": "
              "65536, \"warpSize\": "
           << (rocm ? 64 : 32) << ",\n      \"sharedMemPerBlock\": 49152, \"numSms\": " << (rocm ? 304 : 108)
           << "\n    , \"regsPerMultiprocessor\": 65536, \"sharedMemPerBlockOptin\": 166912, "
              "\"sharedMemPerMultiprocessor\": 167936\n    }"
           << (d + 1 < job_.ranks_per_host ? ",\n" : "\n");
    }
    out_ << "    ],\n";
    if (!rocm)
      out_ << "      \"cupti_version\": 24,\n      \"cuda_runtime_version\": 12060,\n      \"cuda_driver_version\": "
              "12080,\n";
    distributed_info();
    out_ << "      \"record_shapes\": 1,\n      \"with_stack\": 1,\n      \"trace_id\": \"";
    char hex[33];
    for (int half = 0; half < 2; ++half)
      std::snprintf(hex + 16 * half, 17, "%016llX",
                    static_cast<unsigned long long>(draw(job_.seed, 81, plan_.rank, half)));
    out_ << hex << "\",\n  \"displayTimeUnit\": \"ms\",\n";
    if (events_.clock().base_ns() != 0) out_ << "  \"baseTimeNanoseconds\": " << events_.clock().base_ns() << ",\n";
    out_ << "  \"traceEvents\": [\n";
  }

  void distributed_info() {
    std::int64_t world = job_.mesh.world();
    if (const Fault* fault = find_fault(job_.faults, "wrong_world", plan_.rank))
      world = fault->number("size", world * 2);
    out_ << "      \"distributedInfo\": {\"backend\": \"nccl\", \"rank\": " << plan_.rank
         << ", \"world_size\": " << world;
    if (job_.style != Style::old_names) {
      std::vector<int> groups;
      for (const int channel : topology_.channel_of[static_cast<std::size_t>(plan_.rank)])
        if (channel >= 0) groups.push_back(topology_.channels[static_cast<std::size_t>(channel)].group);
      std::sort(groups.begin(), groups.end());
      groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
      out_ << ", \"pg_count\": " << groups.size() + 1
           << ", \"pg_config\": [{\"pg_name\": \"0\", \"pg_desc\": \"default_pg\", \"backend_config\": \"cuda:nccl\", "
              "\"pg_size\": "
           << world << ", \"ranks\": []}";
      for (const int g : groups) {
        const Group& group = topology_.groups[static_cast<std::size_t>(g)];
        out_ << ", {\"pg_name\": \"" << group.name << "\", \"pg_desc\": \"" << group.description
             << "\", \"backend_config\": \"cuda:nccl\", \"pg_size\": " << group.members.size()
             << ", \"ranks\": " << list_text(group.members, group.members.size()) << "}";
      }
      out_ << "], \"nccl_version\": \"2.27.5\"";
    }
    out_ << "},\n";
  }

  void broken_events() {
    const Fault* fault = find_fault(job_.faults, "bad_bytes", plan_.rank);
    const std::int64_t start = steps_.empty() ? 0 : steps_.front().cpu_start;
    constexpr const char* names[] = {"broken \xff\xfe name", "broken \"quoted\" name", "broken \"quote"};
    for (std::int64_t i = 0; fault && i < fault->number("events", 3); ++i)
      events_.slice("cpu_op", names[i % 3], events_.process(),
                    start + i, start + i + 1, "\"External id\": 1");
  }

  /// Every allocation and free of the file's steps, as the allocator reports them to the profiler.
  void memory_events() {
    if (steps_.empty()) return;
    const std::int64_t from = events_.clock().file_ns(steps_.front().cpu_start) / 1000;
    const std::int64_t until = events_.clock().file_ns(steps_.back().cpu_end) / 1000;
    const RankMemory memory = simulate_memory(job_, own_, plan_.rank);
    for (const HistoryEntry& entry : memory.allocator.history())
      if (entry.changes_use() && entry.time_us >= from && entry.time_us <= until) events_.memory(entry);
  }

  void gpu_side() {
    if (const Fault* fault = find_fault(job_.faults, "leading_kernels", plan_.rank); fault && !steps_.empty())
      for (std::int64_t i = 0, count = fault->number("count", 2 + plan_.rank % 5); i < count; ++i) {
        const std::int64_t start = steps_.front().cpu_start - (count - i) * 40'000;
        events_.leading_kernel(start, start + 30'000, stream_number(fsdp_queue), i);
      }
    each_op([&](const Op& op, const OpPlace& place) {
      events_.gpu_operation(op, place);
      events_.launch(op, place);
    });
    each_op([&](const Op& op, const OpPlace& place) {
      if (op.instance >= 0)
        events_.gpu_annotation(name_of(op.collective).annotation, stream_number(op.queue), op.start + place.shift_ns,
                               op.end + place.shift_ns, KinetoEvents::external_id(place, 3));
    });
    each_step([&](const RankStep& step, const OpPlace& place, std::int64_t number) {
      std::int64_t start = own_.ops[step.first_op].start, end = start;
      for (std::size_t i = step.first_op; i < step.end_op; ++i)
        if (own_.ops[i].queue == compute_queue) end = std::max(end, own_.ops[i].end);
      events_.gpu_annotation("ProfilerStep#" + std::to_string(number), stream_number(compute_queue),
                             start + place.shift_ns, end + place.shift_ns, number % 16);
    });
  }

  void name_process(const std::string& pid, const std::string& label, std::int64_t sort) {
    const std::int64_t start = steps_.empty() ? 0 : steps_.front().cpu_start;
    const auto event = [&](const char* name, const std::string& args) {
      out_ << "  {\n    \"name\": \"" << name << "\", \"ph\": \"M\", \"ts\": " << events_.time(start)
           << ", \"pid\": " << pid << ", \"tid\": 0,\n    \"args\": {\n      " << args << "\n    }\n  },\n";
    };
    event("process_name", "\"name\": \"python\"");
    event("process_labels", "\"labels\": \"" + label + "\"");
    event("process_sort_index", "\"sort_index\": " + std::to_string(sort));
  }

  void metadata() {
    name_process(std::to_string(events_.process()), "CPU", events_.process());
    for (int d = 0; d < job_.ranks_per_host; ++d)
      name_process(std::to_string(d), "GPU " + std::to_string(d), 5'000'000 + d);
  }

  void tail() {
    std::int64_t start = 0, end = 1000;
    if (!steps_.empty()) start = steps_.front().cpu_start - 200'000, end = steps_.back().cpu_end + 200'000;
    const auto stamp = events_.time(start);
    out_ << "  {\n    \"ph\": \"X\", \"cat\": \"Trace\", \"ts\": " << stamp
         << ", \"dur\": " << events_.length(start, end)
         << ",\n    \"pid\": \"Spans\", \"tid\": \"PyTorch Profiler\",\n    \"name\": \"PyTorch Profiler (0)\",\n    "
            "\"args\": {\n"
            "      \"Op count\": 0\n    }\n  },\n"
         << "  {\n    \"name\": \"process_sort_index\", \"ph\": \"M\", \"ts\": " << stamp
         << ",\n    \"pid\": \"Spans\", \"tid\": 0,\n    \"args\": {\n      \"sort_index\": 536870912\n    }\n  },\n"
         << "  {\n    \"name\": \"Iteration Start: PyTorch Profiler\", \"ph\": \"i\", \"s\": \"g\",\n    \"pid\": "
            "\"Traces\", \"tid\": "
            "\"Trace PyTorch Profiler\", \"ts\": "
         << stamp << "\n  },\n"
         << "  {\n    \"name\": \"Record Window End\", \"ph\": \"i\", \"s\": \"g\",\n    \"pid\": \"\", \"tid\": \"\", "
            "\"ts\": "
         << events_.time(end) << "\n  }\n  ],\n  \"traceName\": \"rank" << plan_.rank << "_trace.json\"\n}";
  }

  const Job& job_;
  const Topology& topology_;
  const JobRun& run_;
  const RankRun& own_;
  const FilePlan& plan_;
  TextFile& out_;
  KinetoEvents events_;
  KinetoCpu cpu_;
  const bool with_gpu_;
  std::vector<RankStep> steps_;
  std::vector<int> numbers_;  // index of each step
  std::int64_t step_shift_ = 0;
};

}  // namespace

std::int64_t write_kineto(const Job& job, const Topology& topology, const JobRun& run, const FilePlan& plan) {
  const auto write = [&](TextFile& out) {
    KinetoFile(job, topology, run, plan, out).write();
    return out.bytes();
  };
  TextFile counter;
  if (plan.path.empty()) return write(counter);
  std::int64_t limit = -1;
  if (const Fault* fault = find_fault(job.faults, "cut", plan.rank))
    limit = static_cast<std::int64_t>(static_cast<double>(write(counter)) * fault->ratio("keep", 0.7));
  TextFile out(plan.path, job.gzip, limit);
  const std::int64_t bytes = write(out);
  out.close();
  return bytes;
}

double noise_for_size(const Job& job, const Topology& topology, const JobRun& run, FilePlan plan) {
  plan.path.clear();
  plan.noise_per_op = 0;
  const auto bare = static_cast<double>(write_kineto(job, topology, run, plan));
  plan.noise_per_op = 4;
  const auto noisy = static_cast<double>(write_kineto(job, topology, run, plan));
  return std::max(0.0, (job.megabytes_per_rank * 1e6 - bare) * 4 / std::max(1.0, noisy - bare));
}

}  // namespace synth
