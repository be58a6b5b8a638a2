#include "kineto_events.hpp"

#include <algorithm>

#include "kineto_cpu.hpp"

namespace synth {

KinetoEvents::KinetoEvents(const Job& job, const Topology& topology, const JobRun& run, int rank, TextFile& text)
    : out(text),
      job_(job),
      topology_(topology),
      run_(run),
      rank_(rank),
      clock_(job, rank),
      whole_(job.style == Style::old_names) {}

void KinetoEvents::slice(const char* category, std::string_view name, int thread, std::int64_t start, std::int64_t end,
                         std::string_view args) {
  out << "  {\n    \"ph\": \"X\", \"cat\": \"" << category << "\", \"name\": \"" << name << "\", \"pid\": " << process()
      << ", \"tid\": " << thread << ",\n    \"ts\": " << time(start) << ", \"dur\": " << length(start, end)
      << ",\n    \"args\": {\n      " << args << "\n    }\n  },\n";
}

void KinetoEvents::launch(const Op& op, const OpPlace& place) {
  const bool rocm = job_.style == Style::rocm;
  const bool driver = !rocm && op.instance >= 0;
  const char* name = rocm ? "hipLaunchKernel" : driver ? "cuLaunchKernelEx" : "cudaLaunchKernel";
  if (op.kernel == Kernel::copy_to_device) name = rocm ? "hipMemcpyWithStream" : "cudaMemcpyAsync";
  if (op.kernel == Kernel::clear) name = rocm ? "hipMemsetAsync" : "cudaMemsetAsync";
  const int thread = on_autograd_thread(job_, op) ? autograd_thread() : process();
  const std::int64_t start = op.launch + place.shift_ns, end = launch_end(op) + place.shift_ns;
  out << "  {\n    \"ph\": \"X\", \"cat\": \"" << (driver ? "cuda_driver" : "cuda_runtime") << "\", \"name\": \""
      << name << "\", \"pid\": " << process() << ", \"tid\": " << thread << ",\n    \"ts\": " << time(start)
      << ", \"dur\": " << length(start, end) << ",\n    \"args\": {\n      \"External id\": " << external_id(place, 2)
      << ",      \"cbid\": " << (driver ? 652 : 211) << ", \"correlation\": " << correlation(place)
      << "\n    }\n  },\n";
  out << "  {\n    \"ph\": \"s\", \"id\": " << correlation(place) << ", \"pid\": " << process()
      << ", \"tid\": " << thread << ", \"ts\": " << time(start)
      << ",\n    \"cat\": \"ac2g\", \"name\": \"ac2g\"\n  },\n";
}

std::int64_t blocks_of(const Op& op) {
  return op.instance >= 0 ? 24 : std::clamp<std::int64_t>(op.duration / 400, 1, 65'535);
}

void KinetoEvents::kernel_shape(const Op& op) {
  const KernelName& name = name_of(op.kernel);
  const bool communication = op.instance >= 0;
  const std::int64_t blocks = blocks_of(op);
  const std::int64_t per_sm = blocks * 1'000'000 / 108;
  const auto micro = [&](std::int64_t value) {  // six decimals
    std::string digits = std::to_string(value % 1'000'000);
    out << value / 1'000'000 << '.' << std::string(6 - digits.size(), '0') << digits;
  };
  out << "      \"registers per thread\": " << name.registers << ",      \"shared memory\": "
      << (communication          ? 103'808
          : name.registers > 100 ? 98'304
                                 : 0)
      << ",      \"blocks per SM\": ";
  micro(per_sm);
  out << ",      \"warps per SM\": ";
  micro(per_sm * name.warps);
  out << ",      \"grid\": [" << blocks << ", 1, 1],      \"block\": [" << name.warps * 32
      << ", 1, 1],      \"est. achieved occupancy %\": " << std::min<std::int64_t>(100, per_sm * name.warps / 640'000);
}

void KinetoEvents::gpu_operation(const Op& op, const OpPlace& place) {
  const KernelName& known = name_of(op.kernel);
  const bool rocm = job_.style == Style::rocm;
  const char* name = rocm ? known.rocm : known.cuda;
  if (op.instance >= 0) {
    const CollectiveName& collective = name_of(op.collective);
    name = rocm                             ? "ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)"
           : job_.style == Style::old_names ? collective.old_kernel
                                            : collective.kernel;
  }
  const int stream = stream_number(op.queue);
  const std::int64_t start = op.start + place.shift_ns, end = op.end + place.shift_ns;
  out << "  {\n    \"ph\": \"X\", \"cat\": \"" << known.category << "\", \"name\": \"" << name
      << "\", \"pid\": " << device() << ", \"tid\": " << stream << ",\n    \"ts\": " << time(start)
      << ", \"dur\": " << length(start, end) << ",\n    \"args\": {\n      \"External id\": " << external_id(place, 2)
      << ',';
  const bool is_kernel = known.warps > 0;
  out << (is_kernel ? "      \"queued\": 0, \"device\": " : "      \"device\": ") << device()
      << ", \"context\": 1,      \"stream\": " << stream << ", \"correlation\": " << correlation(place);
  if (is_kernel) {
    out << ",";
    kernel_shape(op);
    if (op.instance >= 0) out << communication_args(op);
  } else {
    out << ",      \"bytes\": " << op.bytes
        << ", \"memory bandwidth (GB/s)\": " << op.bytes / std::max<std::int64_t>(1, op.duration) << ".0";
  }
  out << "\n    }\n  },\n";
  out << "  {\n    \"ph\": \"f\", \"id\": " << correlation(place) << ", \"pid\": " << device()
      << ", \"tid\": " << stream << ", \"ts\": " << time(start)
      << ",\n    \"cat\": \"ac2g\", \"name\": \"ac2g\", \"bp\": \"e\"\n  },\n";
}

void KinetoEvents::gpu_annotation(std::string_view name, int stream, std::int64_t start, std::int64_t end,
                                  std::int64_t external) {
  out << "  {\n    \"ph\": \"X\", \"cat\": \"gpu_user_annotation\", \"name\": \"" << name << "\", \"pid\": " << device()
      << ", \"tid\": " << stream << ",\n    \"ts\": " << time(start) << ", \"dur\": " << length(start, end)
      << ",\n    \"args\": {\n      \"External id\": " << external << "\n    }\n  },\n";
}

void KinetoEvents::memory(const HistoryEntry& entry) {
  const std::int64_t stamp = entry.time_us * 1000 - clock_.base_ns();
  out << "  {\n    \"ph\": \"i\", \"cat\": \"cpu_instant_event\", \"s\": \"t\", \"name\": \"[memory]\",\n    \"pid\": "
      << process() << ", \"tid\": " << process() << ",\n    \"ts\": " << Microseconds{stamp, whole_}
      << ",\n    \"args\": {\n      \"Total Reserved\": " << entry.reserved << ", \"Total Allocated\": " << entry.active
      << ", \"Bytes\": " << (entry.action == HistoryEntry::alloc ? entry.size : -entry.size) << ", \"Addr\": "
      << entry.address << ", \"Device Id\": " << device() << ", \"Device Type\": 1, \"Ev Idx\": 0\n    }\n  },\n";
}

void KinetoEvents::leading_kernel(std::int64_t start, std::int64_t end, int stream, std::int64_t number) {
  const CollectiveName& name = name_of(Collective::all_gather);
  out << "  {\n    \"ph\": \"X\", \"cat\": \"kernel\", \"name\": \""
      << (job_.style == Style::old_names ? name.old_kernel : name.kernel) << "\", \"pid\": " << device()
      << ", \"tid\": " << stream << ",\n    \"ts\": " << time(start) << ", \"dur\": " << length(start, end)
      << ",\n    \"args\": {\n      \"queued\": 0, \"device\": " << device()
      << ", \"context\": 1,      \"stream\": " << stream << ", \"correlation\": " << 100 + number << "\n    }\n  },\n";
}

std::string KinetoEvents::group_ranks(const Group& group) const { return list_text(group.members); }

std::string KinetoEvents::communication_args(const Op& op) const {
  if (job_.style == Style::old_names) return "";
  const Instance& instance = run_.instances[static_cast<std::size_t>(op.instance)];
  const Channel& channel = topology_.channels[static_cast<std::size_t>(instance.channel)];
  const Group& group = topology_.groups[static_cast<std::size_t>(channel.group)];
  const auto members = static_cast<int>(group.members.size());
  const auto position =
      static_cast<int>(std::find(group.members.begin(), group.members.end(), rank_) - group.members.begin());
  const Volume volume = volume_of(job_, instance, members, op.collective, position);
  std::string in_split = "[]", out_split = "[]";
  if (op.collective == Collective::all_to_allv) {
    auto sent = rows_sent(job_, instance, members, position);
    if (const Fault* fault = find_fault(job_.faults, "bad_splits", rank_);
        fault && fault->number("step", instance.step) == instance.step)
      sent.front() += 7;  // the list no longer fits what the peers say they receive, nor In msg nelems
    in_split = list_text(sent), out_split = list_text(rows_received(job_, instance, members, position));
  }
  std::string text = std::string(", \"Collective name\": \"") + name_of(op.collective).argument +
                     "\", \"In msg nelems\": " + std::to_string(volume.in_elements) +
                     ", \"Out msg nelems\": " + std::to_string(volume.out_elements) +
                     ", \"Group size\": " + std::to_string(members) + ", \"dtype\": \"" + name_of(instance.type) +
                     "\", \"In split size\": \"" + in_split + "\", \"Out split size\": \"" + out_split +
                     "\", \"Process Group Name\": \"" + group.name + "\", \"Process Group Description\": \"" +
                     group.description + "\", \"Process Group Ranks\": \"" + group_ranks(group) + "\"";
  if (job_.style == Style::sequence) {
    text += ", \"Rank\": " + std::to_string(position) + ", \"Seq\": " + std::to_string(instance.sequence) +
            ", \"Comms Id\": \"" + std::to_string(draw(job_.seed, 51, channel.group)) + "\"";
    if (channel.source >= 0)
      text += ", \"Src Rank\": " + std::to_string(channel.source) +
              ", \"Dst Rank\": " + std::to_string(channel.destination);
  }
  return text;
}

}  // namespace synth
