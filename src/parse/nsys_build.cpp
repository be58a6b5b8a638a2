#include "parse/nsys_build.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "parse/event_limits.hpp"
#include "parse/finish.hpp"
#include "parse/lost_steps.hpp"
#include "parse/nsys_steps.hpp"

namespace ccl {
namespace {

std::uint64_t process_of(std::uint64_t global_id) { return global_id >> 24; }

// Some exports keep invalid UTF-8 and NUL bytes in texts.
std::string cleaned(std::string_view text) { return std::string(text.substr(0, text.find('\0'))); }

std::uint16_t lane_of(RankTrace& trace, Lane lane) {
  const auto row = std::find(trace.lanes.begin(), trace.lanes.end(), lane) - trace.lanes.begin();
  if (static_cast<std::size_t>(row) == trace.lanes.size()) trace.lanes.push_back(lane);
  return static_cast<std::uint16_t>(row);
}

}  // namespace

NsysBuild::NsysBuild(const TraceFile& file, const ReadOptions& options, Problems& problems)
    : file_(file), options_(options), problems_(problems) {
  string(graph_name, "CUDA graph");
}

void NsysBuild::string(std::int64_t id, std::string_view text) {
  strings_.emplace(id, cleaned(text));
  if (text.find("Synchronize") != std::string_view::npos) synchronising_.insert(id);
  if (launches_a_kernel(text)) kernel_calls_.insert(static_cast<std::uint32_t>(id));
  if (text.find("GraphLaunch") != std::string_view::npos) graph_calls_.insert(static_cast<std::uint32_t>(id));
}
void NsysBuild::session(std::int64_t utc_epoch_ns, std::int64_t system_clock_ns) {
  epoch_ns_ = utc_epoch_ns;
  system_clock_ns_ = system_clock_ns;
}
void NsysBuild::times_are_normalised() { normalised_ = true; }
void NsysBuild::host(std::string_view name) { host_ = cleaned(name); }
void NsysBuild::lost(std::int64_t rows) { lost_rows_ += rows; }
void NsysBuild::payload_field(NsysPayloadField field) { payload_fields_.push_back(std::move(field)); }
void NsysBuild::thread_name(std::uint64_t thread, std::int64_t name) { thread_names_.emplace_back(thread, name); }

void NsysBuild::gpu_description(std::string_view name, std::int64_t memory_bytes, std::int64_t sm_count) {
  if (sm_count_ <= 0) sm_count_ = sm_count;
  if (name.empty() || gpus_++ > 0) return;
  gpu_name_ = cleaned(name);
  gpu_memory_bytes_ = memory_bytes;
}

NsysBuild::Process& NsysBuild::process(std::uint64_t key) {
  if (last_process_ == nullptr || key != last_key_) last_process_ = &processes_[key];
  last_key_ = key;
  return *last_process_;
}

void NsysBuild::share(const std::map<std::uint64_t, std::int32_t>& all, FilePart part) {
  speaks_ = part.number == 0;
  std::vector<std::pair<std::int32_t, std::uint64_t>> ordered;
  for (const auto& [process, device] : all) ordered.emplace_back(device, process);
  std::sort(ordered.begin(), ordered.end());
  for (std::size_t i = 0; i < ordered.size(); ++i)
    if (static_cast<int>(i % static_cast<std::size_t>(part.count)) != part.number) others_.insert({ordered[i].second, ordered[i].first});
}

std::uint32_t NsysBuild::thread(Process& process, std::uint64_t global_tid) {
  if (global_tid == process.last_tid && !process.threads.empty()) return process.last_thread;
  const auto [found, added] =
      process.threads.emplace(global_tid, static_cast<std::uint32_t>(process.trace.threads.size()));
  process.last_tid = global_tid;
  process.last_thread = found->second;
  if (added) {
    const auto pid = std::to_string((global_tid >> 24) & 0xFFFFFF), tid = std::to_string(global_tid & 0xFFFFFF);
    process.trace.threads.push_back(pid + "/" + tid);
  }
  return found->second;
}

// Where it is not known beforehand (JSON) the first rows decide: those without a process before one that has it are
// damaged; where none of many has it, all of the file is one.
bool NsysBuild::decide_on_processes(const NsysGpuRow& row) {
  constexpr std::size_t many = 64;
  if (row.process != 0) {
    process_column_ = true;
    if (!nameless_.empty())
      problems_.add({.code = Code::event_damaged, .file = file_.shown, .count = static_cast<std::int64_t>(nameless_.size()),
                     .detail = "rows of GPU work that name no process"});
    for (std::size_t i = 0; i < nameless_.size(); ++i) lost_row({.gpu = true});
    nameless_.clear();
    return true;
  }
  nameless_.push_back(row);
  if (nameless_.size() >= many) take_nameless();
  return false;
}

void NsysBuild::take_nameless() {
  if (nameless_.empty()) return;
  processless_ = true;
  for (const NsysGpuRow& row : std::exchange(nameless_, {})) gpu(row);
}

void NsysBuild::gpu(const NsysGpuRow& row) {
  if (!process_column_ && !processless_ && !decide_on_processes(row)) return;
  const std::int64_t dur_ns = row.end_ns - row.start_ns;
  if (dur_ns < 0 || !is_possible_time(row.start_ns, dur_ns)) {
    problems_.add({.code = dur_ns < 0 ? Code::duration_missing : Code::time_out_of_range, .file = file_.shown});
    return lost_row({.process = row.process, .gpu = true, .kind = row.kind, .correlation = row.correlation});
  }
  RankTrace& trace = process(processless_ ? 0 : row.process).trace;
  if (const std::int64_t bytes = possible_bytes(row.bytes); bytes >= 0 && options_.wants.memory_sizes)
    trace.memory_operations.push_back({static_cast<std::uint32_t>(trace.events.size()), bytes});
  // Until settle_shapes(): blocks and threads of a block; the GPU may be described later in the file.
  if (row.blocks_count > 0 && row.threads_per_block > 0)
    trace.kernel_shapes.push_back({static_cast<std::uint32_t>(trace.events.size()), static_cast<float>(row.blocks_count),
                                   static_cast<float>(row.threads_per_block), 0});
  // Until resolve_names() a name is the low half of a string id, or an index into texts_ for copies and sets.
  const bool fixed = !row.fixed_name.empty();
  trace.events.name.push_back(fixed ? texts_.index(row.fixed_name) : static_cast<std::uint32_t>(row.name));
  trace.events.start_ns.push_back(row.start_ns);
  trace.events.dur_ns.push_back(dur_ns);
  trace.events.lane.push_back(lane_of(trace, {row.device, row.stream}));
  trace.events.kind.push_back(row.kind);
  trace.events.step.push_back(-1);
  trace.events.correlation.push_back(row.correlation);
  trace.events.launch_ns.push_back(absent_ns);
  trace.events.launch_thread.push_back(0);
}

void NsysBuild::call(const NsysCallRow& row) {
  const std::uint64_t key = processless_ ? 0 : process_of(row.thread);
  Process& owner = process(key);
  ++owner.trace.events_count;
  if (is_possible_time(row.end_ns)) owner.recorded = hull(owner.recorded, {row.start_ns, row.end_ns});
  if (options_.wants.runtime_calls) {
    if (late_strings_) owner.calls.push_back(row);
    if (!late_strings_ && synchronising_.contains(row.name)) add_synchronising(owner, row);
  }
  if (row.correlation == 0) return;
  owner.launches.push_back({row.correlation, row.start_ns, thread(owner, row.thread), static_cast<std::uint32_t>(row.name)});
}

void NsysBuild::range(const NsysRangeRow& row) {
  const std::uint64_t key = processless_ ? 0 : process_of(row.thread);
  Process& owner = process(key);
  if (!others_.contains(key)) ++owner.trace.events_count;
  constexpr std::int32_t thread_name = 39, push_pop = 59, start_end = 60;
  constexpr std::string_view mpi_label = "MPI Rank ";
  if (row.type == thread_name && row.text.starts_with(mpi_label)) {
    std::int64_t rank = -1;
    std::from_chars(row.text.data() + mpi_label.size(), row.text.data() + row.text.size(), rank);
    mpi_ranks_.emplace_back(row.thread, rank);
  }
  if (row.type != push_pop && row.type != start_end) return;
  Range range{row.start_ns, row.end_ns, thread(owner, row.thread), row.domain, row.text_id};
  // A file may hold negative ids, which mean nothing.
  if (!row.text.empty() || row.text_id < 0) set_text(range, row.text);
  decode_payload(row, range);
  if (row.end_ns != absent_ns) owner.recorded = hull(owner.recorded, {row.start_ns, row.end_ns});
  owner.ranges.push_back(range);
}

void NsysBuild::add_synchronising(Process& process, const NsysCallRow& call) {
  if (call.end_ns < call.start_ns) return;
  std::string_view name = strings_.at(call.name);
  name = name.substr(0, name.rfind("_v"));  // cudaStreamSynchronize_v3020
  RankTrace& trace = process.trace;
  trace.slices.push_back({call.start_ns, call.end_ns, trace.strings.index(name), thread(process, call.thread),
                          SliceKind::runtime});
}

void NsysBuild::join_launches(Process& process) {
  auto& launches = process.launches;
  process.trace.launches_count = static_cast<std::int64_t>(launches.size());
  // One launch may start many kernels (CUDA graphs); of several calls with one id the first is the launch.
  const auto earlier = [](const Launch& a, const Launch& b) {
    return std::pair(a.correlation, a.start_ns) < std::pair(b.correlation, b.start_ns);
  };
  if (!std::is_sorted(launches.begin(), launches.end(), earlier)) std::sort(launches.begin(), launches.end(), earlier);
  EventTable& events = process.trace.events;
  const auto before = [](const Launch& launch, std::int64_t id) { return launch.correlation < id; };
  const auto* near = launches.begin();
  for (std::size_t i = 0; i < events.size(); ++i) {
    const std::int64_t wanted = events.correlation[i];
    // Most kernels come in the order of their launches: the next one is looked for a few rows on.
    constexpr std::ptrdiff_t step = 8;
    const bool ahead = near != launches.end() && near->correlation <= wanted;
    const auto* until = ahead && launches.end() - near > step ? near + step : launches.end();
    const bool close = ahead && (until == launches.end() || !before(*until, wanted));
    const auto* found = close ? std::lower_bound(near, until, wanted, before)
                              : std::lower_bound(launches.begin(), launches.end(), wanted, before);
    near = found;
    if (wanted == 0 || found == launches.end() || found->correlation != wanted) continue;
    events.launch_ns[i] = found->start_ns;
    events.launch_thread[i] = found->thread;
  }
}

void NsysBuild::read_identity(Process& process) {
  const auto earlier = [](const Range& a, const Range& b) { return a.start_ns < b.start_ns; };
  if (!std::is_sorted(process.ranges.begin(), process.ranges.end(), earlier))
    std::stable_sort(process.ranges.begin(), process.ranges.end(), earlier);
  for (const Range& range : process.ranges) {
    const TextFacts& facts = facts_of(range);
    process.nameless_ranges += facts.unknown ? 1 : 0;
    if (facts.rank >= 0 && process.labelled_rank < 0) {
      process.labelled_rank = facts.rank;
      if (facts.world > 0) process.labelled_world = facts.world;
    }
    if (facts.sits_down) take_seat(process, range);
  }
}

void NsysBuild::read_ranges(Process& process) {
  RankTrace& trace = process.trace;
  for (const NsysCallRow& call : process.calls)
    if (synchronising_.contains(call.name)) add_synchronising(process, call);
  std::set<std::int64_t> numbers;  // of markers
  std::map<std::int32_t, std::vector<Step>> steps;  // by kind
  std::unordered_map<std::int64_t, std::uint32_t> names;  // of slices in the strings of the trace, by text
  for (const Range& range : process.ranges) {
    if (range.end_ns == absent_ns) continue;
    const TextFacts& facts = facts_of(range);
    if (facts.step >= 0 && numbers.insert(facts.step).second)
      steps[facts.step_kind].push_back({.number = facts.step, .start_ns = range.start_ns, .end_ns = range.end_ns, .devices = {}});
    if (facts.own_of_nccl || !facts.wanted) continue;
    const auto [name, added] = names.try_emplace(range.text_id);
    if (added) name->second = trace.strings.index(slice_name(text_of(range)));
    trace.slices.push_back({range.start_ns, range.end_ns, name->second, range.thread, SliceKind::user_annotation,
                            facts.sequence >= 0});
  }
  for (auto& [kind, of_kind] : steps) {
    const InvalidMarkers invalid = settle_markers(of_kind, MarkerOrder::any);
    if (process.invalid_markers.count == 0) process.invalid_markers.first = invalid.first;
    process.invalid_markers.count += invalid.count;
    trace.lost_events_count += invalid.left_out_count;
    trace.steps.insert(trace.steps.end(), of_kind.begin(), of_kind.end());
  }
  mark_autograd_threads(process);
  repeat_backward(process);
  trace.slices.sort();
}

void NsysBuild::settle_shapes(RankTrace& trace) const {
  if (sm_count_ <= 0) return trace.kernel_shapes.clear();
  constexpr double threads_per_warp = 32;
  for (KernelShape& shape : trace.kernel_shapes) {
    const double blocks = static_cast<double>(shape.blocks_per_sm) / static_cast<double>(sm_count_);
    const double warps = std::ceil(static_cast<double>(shape.warps_per_sm) / threads_per_warp);
    shape = {shape.event, static_cast<float>(blocks), static_cast<float>(blocks * warps),
             std::numeric_limits<float>::quiet_NaN()};
  }
}

// PyTorch names the threads of its autograd engine. What they launch is backward, as if each node had its range.
void NsysBuild::mark_autograd_threads(Process& process) {
  RankTrace& trace = process.trace;
  for (const auto& [global_tid, name] : thread_names_) {
    const auto text = strings_.find(name);
    const auto own = process.threads.find(global_tid);
    if (own == process.threads.end() || text == strings_.end() || !text->second.starts_with("pt_autograd_")) continue;
    CpuSlice whole{std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min(),
                   trace.strings.index("autograd::engine::evaluate_function (thread " + text->second + ")"),
                   own->second, SliceKind::other};
    for (const Launch& launch : process.launches) {
      if (launch.thread != whole.thread) continue;
      whole.start_ns = std::min(whole.start_ns, launch.start_ns);
      whole.end_ns = std::max(whole.end_ns, launch.start_ns + 1);
    }
    if (whole.start_ns < whole.end_ns) trace.slices.push_back(whole);
  }
}

// Autograd runs a backward pass on a thread of its own while the caller, whose range says so, waits: the range stands
// on every thread that launches meanwhile.
void NsysBuild::repeat_backward(Process& process) {
  RankTrace& trace = process.trace;
  std::vector<std::pair<std::int64_t, std::uint32_t>> launches;
  for (const Launch& launch : process.launches) launches.emplace_back(launch.start_ns, launch.thread);
  std::sort(launches.begin(), launches.end());
  std::vector<CpuSlice> added;
  enum class Asked : std::uint8_t { no, backward, other };
  std::vector<Asked> asked(trace.strings.size(), Asked::no);  // by name
  for (const CpuSlice& slice : trace.slices) {
    if (slice.kind == SliceKind::other || slice.kind == SliceKind::runtime) continue;
    Asked& answer = asked[slice.name];
    if (answer == Asked::no)
      answer = options_.classifier->slice_rule(trace.strings.text(slice.name)) == "backward" ? Asked::backward : Asked::other;
    if (answer == Asked::other) continue;
    std::set<std::uint32_t> threads;
    for (auto at = std::lower_bound(launches.begin(), launches.end(), std::pair(slice.start_ns, std::uint32_t{0}));
         at != launches.end() && at->first < slice.end_ns; ++at)
      if (at->second != slice.thread) threads.insert(at->second);
    for (const std::uint32_t thread : threads) {
      added.push_back(slice);
      added.back().thread = thread;
    }
  }
  for (const CpuSlice& slice : added) trace.slices.push_back(slice);
}

void NsysBuild::build(const TraceSink& sink) {
  take_nameless();
  for (const auto& [key, owner] : processes_)  // whose rows these were is not told: no rank has that process
    if (owner.trace.events.size() == 0 && !others_.contains(key)) lost_rows_ += owner.lost_rows;
  for (const auto& [key, device] : others_) process(key).lowest_device = device;
  name_mpi_ranks();
  std::vector<Process*> ordered, own;
  for (auto& [key, owner] : processes_) {
    const bool elsewhere = others_.contains(key);
    if (owner.trace.events.size() == 0 && !elsewhere) continue;
    read_identity(owner);
    ordered.push_back(&owner);
    if (elsewhere) continue;
    const auto lower = [](const Lane& a, const Lane& b) { return a.device < b.device; };
    owner.lowest_device = std::min_element(owner.trace.lanes.begin(), owner.trace.lanes.end(), lower)->device;
    std::vector<bool> nameless = resolve_names(owner);
    join_launches(owner);
    count_kernels(owner);
    settle_losses(owner);
    leave_out_unusable(owner, std::move(nameless));
    read_ranges(owner);
    add_collectives(owner);
    own.push_back(&owner);
  }
  const auto by_device = [](const Process* a, const Process* b) { return a->lowest_device < b->lowest_device; };
  std::stable_sort(ordered.begin(), ordered.end(), by_device);
  std::stable_sort(own.begin(), own.end(), by_device);
  if (ordered.empty() && speaks_) problems_.add({.code = Code::no_gpu_events, .file = file_.shown});
  assign_ranks(ordered);
  place_members(ordered, own);
  for (auto& [key, owner] : processes_)
    if (!samples_.empty()) add_counters(key, owner);
  for (Process* owner : own) hand_over(*owner, sink);
}

void NsysBuild::hand_over(Process& process, const TraceSink& sink) {
  RankTrace& trace = process.trace;
  trace.file = -1;
  trace.iteration = file_.iteration;
  trace.replica = file_.replica;
  trace.format = file_.format;
  trace.host = host_;
  trace.gpu = gpu_name_;
  trace.gpu_memory_bytes = gpu_memory_bytes_;
  trace.gpus_in_node = gpus_;
  trace.events_count += static_cast<std::int64_t>(trace.events.size());
  settle_shapes(trace);
  std::int64_t epoch_ns = normalised_ ? 0 : epoch_ns_;
  if (!normalised_ && options_.communicators != nullptr)
    if (const auto at = options_.communicators->epochs.find(file_.shown); at != options_.communicators->epochs.end())
      epoch_ns = at->second;
  const auto shift = [epoch_ns](std::int64_t& t) { t += t == absent_ns ? 0 : epoch_ns; };
  for (std::int64_t& t : trace.events.start_ns) shift(t);
  for (std::int64_t& t : trace.events.launch_ns) shift(t);
  sum_memory(trace);
  for (MemoryUsage& usage : trace.memory_usage) shift(usage.time_ns);
  trace.slices.shift(epoch_ns);
  for (Step& step : trace.steps) shift(step.start_ns), shift(step.end_ns);
  for (CounterSample& sample : trace.counters) shift(sample.time_ns);
  shift_losses(trace, epoch_ns);
  if (cut_) {  // calls that launch nothing are kept with those that do: how far the events go is told by their launches
    trace.loss = FileLoss::rest;
    for (const std::int64_t launch_ns : trace.events.launch_ns)
      trace.launches_until_ns = std::max(trace.launches_until_ns, launch_ns);
  }
  report_losses(process);
  finish(trace, file_, problems_);
  sink(trace);
}

}  // namespace ccl
