#include "nsys_file.hpp"

#include <algorithm>

#include "kernel_names.hpp"
#include "kineto_cpu.hpp"
#include "kineto_events.hpp"
#include "nsys_nccl.hpp"

namespace synth {
namespace {

constexpr std::int64_t virtual_machine = std::int64_t{1} << 48;
constexpr std::int64_t before_capture_ns = 2'000'000'000;  // from session start to the true clock's zero

class NsysFile {
 public:
  NsysFile(const Job& job, const Topology& topology, const JobRun& run, int host, const std::string& path)
      : job_(job),
        topology_(topology),
        run_(run),
        host_(host),
        clock_(job, host * job.ranks_per_host),
        database_(path) {}

  void write() {
    machine();
    const int first = host_ * job_.ranks_per_host;
    for (int rank = first; rank < std::min(job_.mesh.world(), first + job_.ranks_per_host); ++rank)
      if (!is_missing(job_.faults, rank)) process(rank);
    database_.close();
  }

 private:
  /// Ns since the start of the session.
  std::int64_t session_ns(std::int64_t t) const { return clock_.file_ns(t) - clock_.file_ns(0) + before_capture_ns; }
  static std::int64_t pid_of(int rank) { return 4'000 + rank; }
  static std::int64_t global_pid(int rank) { return virtual_machine | pid_of(rank) << 24; }
  static std::int64_t thread_of(int rank, bool autograd) {
    return global_pid(rank) | (pid_of(rank) + (autograd ? 900 : 0));
  }
  /// PithTrain runs its pipeline without autograd's threads.
  bool on_other_thread(const Op& op) const { return !is_v_shaped(job_.schedule) && on_autograd_thread(job_, op); }
  int device_of(int rank) const { return rank % job_.ranks_per_host; }

  void pair(const char* table, std::string_view name, std::string_view value) {
    database_.insert(table, "name, value", {name, value});
  }

  void machine() {
    pair("META_DATA_EXPORT", "EXPORT_PRODUCT_NAME", "NVIDIA Nsight Systems");
    pair("META_DATA_EXPORT", "EXPORT_PRODUCT_VERSION", "2025.3.1.90");
    pair("META_DATA_EXPORT", "EXPORT_SCHEMA_VERSION", "3.20.2");
    pair("META_DATA_EXPORT", "EXPORT_PARAM_TIME_NORMALIZE", "false");
    pair("META_DATA_CAPTURE", "CAPTURE_EVENT_TYPE", "Cuda");
    pair("META_DATA_CAPTURE", "CAPTURE_EVENT_TYPE", "NvtxEvents");
    const std::string name = "node" + std::to_string(host_);
    database_.insert("TARGET_INFO_SYSTEM_ENV", "globalVid, devStateName, name, nameEnum, value",
                     {virtual_machine, std::string_view("DeviceState"), std::string_view("Hostname"), std::int64_t{15},
                      std::string_view(name)});
    database_.insert("TARGET_INFO_SESSION_START_TIME", "utcEpochNs", {clock_.file_ns(0) - before_capture_ns});
    for (std::int64_t d = 0; d < job_.ranks_per_host; ++d) {
      // The export's GPU id is not the CUDA ordinal: here they run in opposite directions.
      database_.insert(
          "TARGET_INFO_GPU", "vmId, id, name, isDiscrete, totalMemory, smCount, cuDevice, computeMajor, computeMinor",
          {virtual_machine, job_.ranks_per_host - 1 - d, std::string_view("NVIDIA A100-SXM4-40GB"), std::int64_t{1},
           std::int64_t{42'297'786'368}, std::int64_t{108}, d, std::int64_t{8}, std::int64_t{0}});
    }
  }

  void process(int rank) {
    const std::int64_t main = thread_of(rank, false), pid = pid_of(rank);
    database_.insert("PROCESSES", "globalPid, pid, name", {global_pid(rank), pid, std::string_view("python3.12")});
    database_.insert("ThreadNames", "nameId, priority, globalTid",
                     {database_.string_id("pt_autograd_0"), std::int64_t{10}, thread_of(rank, true)});
    database_.insert("TARGET_INFO_CUDA_DEVICE", "gpuId, cudaId, pid",
                     {std::int64_t{job_.ranks_per_host - 1 - device_of(rank)}, std::int64_t{device_of(rank)}, pid});
    const RankRun& own = run_.ranks[static_cast<std::size_t>(rank)];
    const std::int64_t start = own.steps.front().cpu_start, end = own.steps.back().cpu_end;
    describe_nccl(database_, main, session_ns(start) - 900'000);
    NcclRanges nccl(job_, topology_, run_, rank, database_);
    nccl.initialise(main, session_ns(start) - 800'000, session_ns(start) - 100'000);
    range(setup_label(rank), main, start - 50'000, end + 1'000'000);
    for (std::size_t s = 0; s < own.steps.size(); ++s) {
      const RankStep& step = own.steps[s];
      range("iteration " + std::to_string(job_.first_step + static_cast<int>(s)), main, step.cpu_start, step.cpu_end);
      spans(own, step, rank);
      stages(own, step, rank);
      for (std::size_t i = step.first_op; i < step.end_op; ++i)
        operation(own.ops[i], rank, KinetoEvents::correlation({0, static_cast<std::int64_t>(i)}), nccl);
    }
    metrics(own, rank);
  }

  /// As PithTrain labels a capture: experts are a dimension of their own there, taken out of the data-parallel one.
  std::string setup_label(int rank) const {
    const Mesh& m = job_.mesh;
    const Place p = place_of(m, rank);
    const auto part = [](const char* name, int at, int size) {
      return std::string(name) + "=" + std::to_string(at) + "/" + std::to_string(size);
    };
    const int data = m.dp_replicate * m.dp_shard, groups = std::max(1, data / m.ep);
    return "rank=" + std::to_string(rank) + "; " + part("pp", p.pp, m.pp) + " " +
           part("dp", (p.dp_replicate * m.dp_shard + p.dp_shard) * groups / data, groups) + " " +
           part("cp", p.cp, m.cp) + " " + part("ep", (p.dp_shard * m.cp + p.cp) % m.ep, m.ep) +
           "; mbs=" + std::to_string(job_.model.local_batch) + " seq=" + std::to_string(job_.model.seq);
  }

  void range(const std::string& text, std::int64_t thread, std::int64_t start, std::int64_t end) {
    database_.insert(
        "NVTX_EVENTS", "start, end, eventType, text, globalTid, domainId",
        {session_ns(start), session_ns(end), std::int64_t{59}, std::string_view(text), thread, std::int64_t{0}});
  }

  void spans(const RankRun& own, const RankStep& step, int rank) {
    std::string forward;
    std::int64_t forward_start = 0;
    for (std::size_t s = step.first_span; s < step.end_span; ++s) {
      const Span& span = own.spans[s];
      const std::string chunk = std::to_string(span.chunk);
      std::string text;
      if (span.kind == Span::both)
        text = "forward chunk " + std::to_string(span.chunk / 16) + " (phase4) backward chunk " +
               std::to_string(span.chunk % 16) + " (phase4)";
      if (span.kind == Span::forward) text = "forward chunk " + chunk + " (phase1)";
      if (span.kind == Span::backward) text = "backward chunk " + chunk + " (phase1)";
      if (span.kind == Span::weight) text = "weight chunk";
      if (span.kind == Span::optimizer) text = "Optimizer.step#AdamW.step";
      if (span.kind == Span::load) text = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";
      if (span.kind == Span::gather || span.kind == Span::reduce) {
        sharding(own, step, span, rank);
        continue;
      }
      if (text.empty()) continue;
      const std::int64_t start = own.ops[step.first_op + static_cast<std::size_t>(span.first_op)].cpu_start - 1,
                         end = own.ops[step.first_op + static_cast<std::size_t>(span.last_op)].cpu_end + 1;
      range(text, thread_of(rank, false), start, end);
      // A forward that a backward follows at once stands for PithTrain's overlapped pair, whose text names both.
      if (span.kind == Span::forward) forward = text, forward_start = start;
      if (span.kind == Span::backward && !forward.empty())
        range(forward + " " + text, thread_of(rank, false), forward_start - 1, end + 1);
      if (span.kind != Span::forward) forward.clear();
    }
  }

  /// What FSDP says of itself when its annotations go to NVTX.
  void sharding(const RankRun& own, const RankStep& step, const Span& span, int rank) {
    if (job_.layout == Layout::megatron) return;
    const std::string module = span.index >= 0    ? "layers." + std::to_string(span.index)
                               : span.index == -1 ? "tok_embeddings"
                                                  : "norm, output";
    const Op& first = own.ops[step.first_op + static_cast<std::size_t>(span.first_op)];
    range((span.kind == Span::gather ? "FSDP::all_gather (" : "FSDP::post_backward_reduce (") + module + ")",
          thread_of(rank, on_other_thread(first)), first.cpu_start,
          own.ops[step.first_op + static_cast<std::size_t>(span.last_op)].cpu_end);
  }

  static constexpr int embedding = -1, output = -2, nowhere = -3;

  /// layer%02d.stage{1..5}_{f,b}: attention and routing, dispatch, experts, combine, aggregation. Mixtures only.
  void stages(const RankRun& own, const RankStep& step, int rank) {
    if (job_.model.experts == 0) return;
    struct Open {
      int layer = nowhere, stage = 0, microbatch = -1;
      Phase phase = Phase::other;
      std::size_t first = 0;
    } open;
    const auto close = [&](std::size_t end) {
      if (open.layer == nowhere) return;
      char text[32];
      const char direction = open.phase == Phase::forward ? 'f' : 'b';
      if (open.layer >= 0)
        std::snprintf(text, sizeof text, "layer%02d.stage%d_%c", open.layer, open.stage, direction);
      else if (open.layer == embedding)
        std::snprintf(text, sizeof text, "prolog_%c", direction);
      else
        std::snprintf(text, sizeof text, direction == 'f' ? "epilog_f" : "loss1.backward()");
      const Op& first = own.ops[open.first];
      range(text, thread_of(rank, on_other_thread(first)), first.cpu_start, own.ops[end - 1].cpu_end);
    };
    int before = 0;  // stage of the operation before
    for (std::size_t i = step.first_op; i < step.end_op; ++i) {
      const Op& op = own.ops[i];
      const bool same = op.layer == open.layer && op.phase == open.phase && op.microbatch == open.microbatch;
      const bool outer = op.kernel == Kernel::embedding || op.kernel == Kernel::embedding_grad || op.layer == output;
      const bool inside = (op.layer >= 0 || outer) && (op.phase == Phase::forward || op.phase == Phase::backward) &&
                          op.queue != fsdp_queue;
      const int stage = inside && op.layer >= 0 ? next_stage(op, same ? before : 0) : 0;
      if (!same || stage != open.stage) {
        close(i);
        open = {inside ? op.layer : nowhere, stage, op.microbatch, op.phase, i};
      }
      before = stage;
    }
    close(step.end_op);
  }

  static int next_stage(const Op& op, int before) {
    const bool forward = op.phase == Phase::forward;
    if (op.kernel == Kernel::permute) return 5;
    if (op.instance >= 0 && op.collective == Collective::all_to_allv)
      return forward ? (before < 2 ? 2 : 4) : (before >= 4 ? 4 : 2);
    if (forward) return before == 2 || before == 3 ? 3 : before == 0 ? 1 : before;
    return before == 4 || before == 3 ? 3 : before == 0 ? 5 : 1;
  }

  void operation(const Op& op, int rank, std::int64_t correlation, NcclRanges& nccl) {
    const std::int64_t thread = thread_of(rank, on_other_thread(op)), device = device_of(rank),
                       stream = stream_number(op.queue);
    const std::int64_t start = session_ns(op.start), end = session_ns(op.end), process = global_pid(rank), one = 1,
                       none = 0;
    const KernelName& name = name_of(op.kernel);
    const bool copy = op.kernel == Kernel::copy_to_device, clear = op.kernel == Kernel::clear;
    const char* call = copy               ? "cudaMemcpyAsync_v3020"
                       : clear            ? "cudaMemsetAsync_v3020"
                       : op.instance >= 0 ? "cudaLaunchKernelExC_v11060"
                                          : "cudaLaunchKernel_v7000";
    if (op.instance >= 0 && (op.collective == Collective::send || op.collective == Collective::recv))
      range("pipeline send/recv", thread, op.cpu_start, op.cpu_end);
    if (op.instance >= 0) nccl.call(op, thread, session_ns(op.cpu_start) + 1, session_ns(op.cpu_end));
    database_.insert("CUPTI_ACTIVITY_KIND_RUNTIME",
                     "start, end, eventClass, globalTid, correlationId, nameId, returnValue",
                     {session_ns(op.launch), session_ns(KinetoEvents::launch_end(op)), none, thread, correlation,
                      database_.string_id(call), none});
    if (copy) {
      database_.insert(
          "CUPTI_ACTIVITY_KIND_MEMCPY",
          "start, end, deviceId, contextId, streamId, correlationId, globalPid, bytes, copyKind, srcKind, dstKind",
          {start, end, device, one, stream, correlation, process, std::int64_t{op.bytes}, one, one, std::int64_t{2}});
    } else if (clear) {
      database_.insert(
          "CUPTI_ACTIVITY_KIND_MEMSET",
          "start, end, deviceId, contextId, streamId, correlationId, globalPid, value, bytes, memKind",
          {start, end, device, one, stream, correlation, process, none, std::int64_t{op.bytes}, std::int64_t{2}});
    } else {
      const char* full = op.instance >= 0 ? name_of(op.collective).kernel : name.cuda;
      database_.insert(
          "CUPTI_ACTIVITY_KIND_KERNEL",
          "start, end, deviceId, contextId, streamId, correlationId, globalPid, demangledName, shortName, launchType, "
          "registersPerThread, gridX, gridY, gridZ, blockX, blockY, blockZ, staticSharedMemory, dynamicSharedMemory, "
          "localMemoryPerThread, localMemoryTotal, gridId",
          {start,
           end,
           device,
           one,
           stream,
           correlation,
           process,
           database_.string_id(full),
           database_.string_id(short_kernel_name(full)),
           one,
           std::int64_t{name.registers},
           blocks_of(op),
           one,
           one,
           std::int64_t{name.warps * 32},
           one,
           one,
           none,
           none,
           none,
           none,
           correlation});
    }
  }

  /// One sample per 100 us and metric: high while a compute kernel runs.
  void metrics(const RankRun& own, int rank) {
    const std::int64_t type = std::int64_t{0x0101000000} | (job_.ranks_per_host - 1 - device_of(rank));
    const char* names[] = {"SMs Active [Throughput %]", "Tensor Active [Throughput %]",
                           "DRAM Read Bandwidth [Throughput %]"};
    const int busy[] = {96, 61, 38}, quiet[] = {12, 0, 4};
    for (std::int64_t m = 0; m < 3; ++m)
      database_.insert("TARGET_INFO_GPU_METRICS", "typeId, sourceId, typeName, metricId, metricName",
                       {type, std::int64_t{1}, std::string_view("GA100"), m, std::string_view(names[m])});
    std::vector<std::pair<std::int64_t, std::int64_t>> computing;
    for (const Op& op : own.ops)
      if (op.instance < 0) computing.emplace_back(op.start, op.end);
    std::size_t at = 0;
    for (std::int64_t t = own.steps.front().cpu_start; t < own.steps.back().cpu_end; t += 100'000) {
      while (at < computing.size() && computing[at].second < t) ++at;
      const bool active = at < computing.size() && computing[at].first <= t;
      for (std::int64_t m = 0; m < 3; ++m)
        database_.insert("GPU_METRICS", "rawTimestamp, timestamp, typeId, metricId, value",
                         {session_ns(t), session_ns(t), type, m, std::int64_t{active ? busy[m] : quiet[m]}});
    }
  }

  const Job& job_;
  const Topology& topology_;
  const JobRun& run_;
  const int host_;
  const FileClock clock_;
  NsysDatabase database_;
};

}  // namespace

void write_nsys(const Job& job, const Topology& topology, const JobRun& run, int host, const std::string& path) {
  NsysFile(job, topology, run, host, path).write();
}

}  // namespace synth
