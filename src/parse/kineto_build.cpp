#include "parse/kineto_build.hpp"

#include <algorithm>

#include "core/shares.hpp"
#include "parse/decimal.hpp"
#include "parse/event_limits.hpp"
#include "parse/lost_steps.hpp"
#include "parse/step_markers.hpp"

namespace ccl {
namespace {

constexpr std::string_view step_marker = "ProfilerStep#";
constexpr std::string_view engine = "autograd::engine::evaluate_function: ";
// ROCm traces without correlation are joined by External id; this keeps the two kinds of number apart.
constexpr std::int64_t external_id_space = std::int64_t{1} << 62;

std::int64_t join_key(std::int64_t correlation, std::int64_t external_id) {
  if (correlation != 0) return correlation;
  return external_id > 0 && external_id < external_id_space ? external_id + external_id_space : 0;
}

/// The number in "7", 7 or "stream 7"; 0 without one.
std::int64_t first_number(std::string_view text) {
  const std::size_t digit = text.find_first_of("0123456789");
  if (digit == std::string_view::npos) return 0;
  std::size_t end = digit;
  while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
  return parse_integer(text.substr(digit, end - digit), 0);
}

EventKind kind_of(Category category, bool communicates) {
  if (category == Category::memory_copy) return EventKind::memory_copy;
  if (category == Category::memory_set) return EventKind::memory_set;
  return communicates ? EventKind::communication : EventKind::compute;
}

}  // namespace

KinetoBuilder::KinetoBuilder(const ReadOptions& options, KinetoMemory& memory, BuildsPart part)
    : wants_(options.wants), trace_(memory.trace), launches_(memory.launches),
      names_(*options.classifier, memory.trace.strings), filter_(options.wants, names_), builds_(part) {
  trace_.clear();
  launches_.clear();
  if (part == BuildsPart::first_or_whole) return;
  launches_.write_down();
  filter_.want_sequence_numbers();  // a backward may have begun before
}

bool KinetoBuilder::add(std::string_view text) {
  const Glance glance = filter_.glance(text);
  const char* const end = text.data() + text.size();
  switch (glance.seen) {
    case Glance::look: break;
    case Glance::counted: ++trace_.events_count; [[fallthrough]];
    case Glance::ignored: any_event_ = true; return true;
    case Glance::kernel: if (add_usual_gpu(Category::kernel, glance.name, end)) return true; break;
    case Glance::memory_copy: if (add_usual_gpu(Category::memory_copy, glance.name, end)) return true; break;
    case Glance::memory_set: if (add_usual_gpu(Category::memory_set, glance.name, end)) return true; break;
    case Glance::call: if (add_usual_call(glance.name, end)) return true; break;
  }
  return add_looked_at(text);
}

bool KinetoBuilder::add_usual_gpu(Category category, const char* name, const char* end) {
  const char* behind = nullptr;
  UsualEvent event;
  KnownName* const known = names_.find_next(NameChain::gpu_events, name, end, behind);
  if (known == nullptr || !usual_gpu_.read(behind, end, static_cast<std::uint64_t>(category), event)) return false;
  if (!is_possible_time(event.start_ns, event.dur_ns)) return false;
  any_event_ = true;
  ++trace_.events_count;
  GpuArguments arguments;
  arguments.correlation = event.correlation;
  arguments.external_id = event.external_id;
  const bool all = category == Category::kernel ? wants_.kernel_shapes : wants_.memory_sizes;
  read_behind_ids(event.behind_ids, event.arguments.data() + event.arguments.size(),
                  all ? ArgumentNeeds::all : ArgumentNeeds::ids, arguments);
  add_gpu_row(category, *known, event.start_ns, event.dur_ns, static_cast<std::uint16_t>(event.number), arguments,
              event.arguments);
  return true;
}

bool KinetoBuilder::add_usual_call(const char* name, const char* end) {
  const char* behind = nullptr;
  KnownName* const known = names_.find_next(NameChain::calls, name, end, behind);
  if (known == nullptr) return false;
  const KnownName& call = names_.call(*known);
  if (wants_.runtime_calls && call.synchronises) return false;
  UsualEvent event;
  if (call.launches && !usual_calls_.read(behind, end, reinterpret_cast<std::uintptr_t>(known), event)) return false;
  any_event_ = true;
  ++trace_.events_count;
  if (!call.launches) return true;
  count_launch(call);
  launches_.add_launch(event.correlation, event.start_ns, event.number, call.graph);
  marks_.launch(event.start_ns, trace_.events_count);
  return true;
}

bool KinetoBuilder::add_looked_at(std::string_view text) {
  EventText event;
  const EventFate fate = filter_.read(text, event);
  if (fate == EventFate::no_event) return true;
  any_event_ = true;
  switch (fate) {
    case EventFate::damaged: return false;
    case EventFate::no_event:
    case EventFate::ignored: return true;
    case EventFate::counted: ++trace_.events_count; return true;
    case EventFate::wanted: break;
  }
  if (event.phase == 'B')
    add_begin(event, text);
  else if (event.phase == 'E')
    add_end(event);
  else if (event.phase == 'i')
    add_memory_usage(event);
  else
    add_timed(event);
  return true;
}

void KinetoBuilder::add_timed(const EventText& event) {
  const Decimal start = parse_us_as_ns(event.time.text);
  if (start.status == DecimalStatus::absent) {
    if (is_on_gpu(event.category)) ++counts_.no_time;
    return;
  }
  const Decimal duration = parse_us_as_ns(event.duration.text);
  ++trace_.events_count;
  if (start.status == DecimalStatus::out_of_range || duration.status == DecimalStatus::out_of_range) {
    ++counts_.out_of_range;
    return;
  }
  if (duration.status == DecimalStatus::absent && is_on_gpu(event.category)) {
    ++counts_.no_duration;
    return;
  }
  add_complete(event, start.value, duration.value);
}

void KinetoBuilder::add_complete(const EventText& event, std::int64_t start_ns, std::int64_t dur_ns) {
  if (dur_ns < 0 && is_on_gpu(event.category)) {  // as zero it would be the shortest of its collective
    ++counts_.no_duration;
    return;
  }
  if (dur_ns < 0) {
    ++counts_.negative;
    dur_ns = 0;
  }
  // A marker of days still tells where its step begins.
  if (dur_ns > longest_event_ns && !is_on_gpu(event.category) && event.name.starts_with(step_marker)) dur_ns = 0;
  if (!is_possible_time(start_ns, dur_ns)) {
    if (!event.name.starts_with(recording)) ++counts_.out_of_range;
    return;
  }
  switch (event.category) {
    case Category::kernel: case Category::memory_copy: case Category::memory_set: add_gpu(event, start_ns, dur_ns); break;
    case Category::runtime: add_runtime(event, start_ns, dur_ns); break;
    default: add_cpu(event, start_ns, dur_ns); break;
  }
}

void KinetoBuilder::add_memory_usage(const EventText& event) {
  const Decimal time = parse_us_as_ns(event.time.text);
  if (time.status != DecimalStatus::ok || !is_possible_time(time.value) || event.arguments.empty()) return;
  MemoryUsage usage;
  usage.time_ns = time.value;
  std::int64_t device_type = -1, device = -1;
  for (JsonWalk walk(event.arguments); walk.next();) {
    if (walk.key() == "Total Allocated") usage.allocated_bytes = device_bytes(walk.value().text);
    if (walk.key() == "Total Reserved") usage.reserved_bytes = device_bytes(walk.value().text);
    if (walk.key() == "Device Id") device = parse_integer(walk.value().text, -1);
    if (walk.key() == "Device Type") device_type = parse_integer(walk.value().text, -1);
  }
  // Type 0 is the CPU, which has no device number.
  if (device_type <= 0 || device < 0 || device > INT16_MAX) return;
  usage.device = static_cast<std::int32_t>(device);
  trace_.memory_usage.push_back(usage);
}

void KinetoBuilder::add_gpu(const EventText& event, std::int64_t start_ns, std::int64_t dur_ns) {
  const bool all = event.category == Category::kernel ? wants_.kernel_shapes : wants_.memory_sizes;
  const GpuArguments arguments = read_gpu_arguments(event.arguments, all ? ArgumentNeeds::all : ArgumentNeeds::ids);
  std::int64_t device = arguments.device;
  if (device < 0 || device > INT16_MAX) device = parse_integer(event.process.text, 0);
  if (device < 0 || device > INT16_MAX) device = 0;  // a process number, not a GPU
  const std::int64_t stream = arguments.has_stream ? arguments.stream : first_number(event.thread.text);
  const std::uint16_t on_lane = lane(static_cast<std::int32_t>(device), stream);
  usual_gpu_.learn(event.arguments.data(), on_lane);
  add_gpu_row(event.category, names_.find(event.name), start_ns, dur_ns, on_lane, arguments, event.arguments);
}

void KinetoBuilder::add_gpu_row(Category category, KnownName& name, std::int64_t start_ns, std::int64_t dur_ns,
                                std::uint16_t on_lane, const GpuArguments& arguments, std::string_view text) {
  const bool is_kernel = category == Category::kernel;
  const KernelClass kernel = is_kernel ? names_.kernel(name) : KernelClass{};
  const bool communicates = is_kernel && (kernel.kind == EventKind::communication || arguments.has_collective);
  EventTable& events = trace_.events;
  const auto row = static_cast<std::uint32_t>(events.size());
  events.start_ns.push_back(start_ns);
  events.dur_ns.push_back(dur_ns);
  events.name.push_back(names_.index(name));
  events.lane.push_back(on_lane);
  events.kind.push_back(kind_of(category, communicates));
  events.step.push_back(-1);
  events.correlation.push_back(arguments.correlation);
  events.launch_ns.push_back(absent_ns);
  events.launch_thread.push_back(0);
  launches_.add_event(join_key(arguments.correlation, arguments.external_id), row, events);

  if (communicates) communication_.add_kernel(trace_, row, kernel.op, text, arguments.external_id);
  if (!is_kernel && wants_.memory_sizes)
    trace_.memory_operations.push_back({row, std::max<std::int64_t>(arguments.bytes, -1)});
  if (is_kernel && wants_.kernel_shapes && arguments.has_shape)
    trace_.kernel_shapes.push_back({row, arguments.blocks_per_sm, arguments.warps_per_sm, arguments.occupancy_percent});
}

void KinetoBuilder::add_runtime(const EventText& event, std::int64_t start_ns, std::int64_t dur_ns) {
  const KnownName& call = names_.call(names_.find(event.name));
  if (call.launches) {
    const LaunchArguments arguments = read_launch_arguments(event.arguments);
    const std::int64_t key = join_key(arguments.correlation, arguments.external_id);
    if (key != 0) {
      count_launch(call);
      const std::uint32_t on_thread = thread(event);
      usual_calls_.learn(event.arguments.data(), on_thread);
      launches_.add_launch(key, start_ns, on_thread, call.graph);
      marks_.launch(start_ns, trace_.events_count);
    }
  }
  if (wants_.runtime_calls && call.synchronises) add_slice(SliceKind::runtime, event, start_ns, dur_ns);
}

void KinetoBuilder::add_cpu(const EventText& event, std::int64_t start_ns, std::int64_t dur_ns) {
  const std::string_view name = event.name;
  constexpr std::string_view communication = "nccl:";
  if (name.starts_with(communication))
    communication_.add_annotation(thread(event), start_ns, start_ns + dur_ns, name.substr(communication.size()));
  const bool is_operation = event.category == Category::cpu_op;
  const bool is_annotation = event.category == Category::user_annotation;
  if (is_operation && is(name, "record_param_comms")) communication_.add_record(trace_, event.arguments);
  if ((is_operation || is_annotation) && name.starts_with(step_marker)) {
    const std::int64_t number = parse_integer(name.substr(step_marker.size()), -1);
    if (number >= 0) trace_.steps.push_back({number, start_ns, start_ns + dur_ns, StepSource::marker, {}});
  }
  if (is_annotation && wants_.annotations) add_slice(SliceKind::user_annotation, event, start_ns, dur_ns);
  if (is_operation && wants_.cpu_ops) {
    if (names_.keeps_slice(names_.find(name)))
      add_slice(SliceKind::cpu_op, event, start_ns, dur_ns);
    else
      add_repeated(event, start_ns, dur_ns);  // or it came for what it carries
    if (name.starts_with(engine)) add_node(thread(event), start_ns, start_ns + dur_ns, name.substr(engine.size()));
  }
  if (event.category == Category::other && name.starts_with(recording))
    recorded_ = hull(recorded_, {start_ns, start_ns + dur_ns});
  if (event.category == Category::python_function) add_slice(SliceKind::python_function, event, start_ns, dur_ns);
}

// Backwards run without gradients, so their operators have no sequence number, but for the node itself; those of an
// activation that is computed again have one. Events of a thread stand in the order of time.
void KinetoBuilder::add_repeated(const EventText& event, std::int64_t start_ns, std::int64_t dur_ns) {
  if (builds_ == BuildsPart::later) {
    const std::int32_t sequence = read_sequence_number(event.arguments);
    if (sequence >= 0)
      operators_.push_back({start_ns, start_ns + dur_ns, trace_.slices.size(), thread(event),
                            raw_names_.index(event.name), sequence, false});
    return;
  }
  if (nodes_.empty()) return;
  Node* const node = node_around(thread(event), start_ns, event.name);
  if (node == nullptr || read_sequence_number(event.arguments) < 0) return;
  node->repeated_until_ns = start_ns + dur_ns;
  add_slice(SliceKind::cpu_op, event, start_ns, dur_ns);
}

void KinetoBuilder::add_slice(SliceKind kind, const EventText& event, std::int64_t start_ns, std::int64_t dur_ns) {
  const std::uint32_t name = names_.index(names_.find(event.name));
  const bool numbered = kind == SliceKind::cpu_op && read_sequence_number(event.arguments) >= 0;
  trace_.slices.push_back({start_ns, start_ns + dur_ns, name, thread(event), kind, numbered});
}

std::uint16_t KinetoBuilder::lane(std::int32_t device, std::int64_t stream) {
  const Lane wanted{device, stream};
  if (!trace_.lanes.empty() && last_lane_ == wanted) return last_lane_number_;
  const auto [found, is_new] = lanes_.try_emplace({device, stream}, static_cast<std::uint16_t>(trace_.lanes.size()));
  if (is_new) {
    if (trace_.lanes.size() >= UINT16_MAX)
      found->second = UINT16_MAX - 1;  // more queues than any GPU has: the last one takes the rest
    else
      trace_.lanes.push_back(wanted);
  }
  last_lane_ = wanted;
  return last_lane_number_ = found->second;
}

std::uint32_t KinetoBuilder::thread(const EventText& event) {
  thread_key_.assign(event.process.text).push_back('/');
  thread_key_.append(event.thread.text);
  if (!trace_.threads.empty() && thread_key_ == last_thread_) return last_thread_number_;
  const auto [found, is_new] = threads_.try_emplace(thread_key_, static_cast<std::uint32_t>(trace_.threads.size()));
  if (is_new) trace_.threads.push_back(clean_text(thread_key_));
  last_thread_ = thread_key_;
  return last_thread_number_ = found->second;
}

void KinetoBuilder::shift_times(std::int64_t base_ns, std::span<const Processors> lent) {
  if (base_ns == 0) return;
  EventTable& events = trace_.events;
  const std::vector<Share> shares = shares_of(events.size(), lent);
  for_each_share(shares, lent, [&](std::size_t share) {
    for (std::size_t i = shares[share].begin; i < shares[share].end; ++i) events.start_ns[i] += base_ns;
    for (std::size_t i = shares[share].begin; i < shares[share].end; ++i)
      events.launch_ns[i] += events.launch_ns[i] != absent_ns ? base_ns : 0;
  });
  for (Step& step : trace_.steps) {
    step.start_ns += base_ns;
    step.end_ns += base_ns;
  }
  for (MemoryUsage& usage : trace_.memory_usage) usage.time_ns += base_ns;
  trace_.slices.shift(base_ns);
  shift_losses(trace_, base_ns);
}

void KinetoBuilder::close(const TraceHeader& header, const Problem& origin, Problems& problems,
                          std::span<const Processors> lent) {
  launches_.finish(trace_.events);
  const std::int64_t left_out_count = counts_.out_of_range + counts_.no_time + counts_.no_duration + header.swallowed_count;
  const KernelCounts kernels = kernel_counts();
  const bool lacks_kernels = !trace_.events.start_ns.empty() && kernels.too_few();  // else no_gpu_events says it
  if (trace_.loss == FileLoss::nothing && (left_out_count > 0 || lacks_kernels)) trace_.loss = FileLoss::pieces;
  if (trace_.loss != FileLoss::nothing) launches_.tell_left_over(trace_);
  if (trace_.launches_until_ns != absent_ns) trace_.lost_between = marks_.between_launches();
  communication_.finish(trace_, lent);
  complete_groups(trace_, header.pg_config);
  const std::int64_t unrecorded_count = leave_out_unrecorded(lent);
  sort_steps(trace_.steps);
  const InvalidMarkers markers = settle_markers(trace_.steps, MarkerOrder::one_after_the_other, recorded_);
  shift_times(header.base_ns, lent);
  trace_.rank = header.rank;
  trace_.world_size = header.world_size;
  trace_.host = header.host;
  trace_.gpu = header.gpu;
  trace_.gpus_in_node = header.gpus;
  trace_.gpu_memory_bytes = header.gpu_memory_bytes;
  trace_.framework_version = header.framework_version;
  trace_.lost_events_count += left_out_count + markers.left_out_count;

  const auto report = [&](Code code, std::int64_t count, std::string detail) {
    if (count == 0) return;
    Problem problem = origin;
    problem.code = code;
    problem.count = count;
    problem.detail = std::move(detail);
    problems.add(std::move(problem));
  };
  report(Code::negative_duration, counts_.negative, "");
  report(Code::duration_missing, counts_.no_duration, "");
  report(Code::event_damaged, header.swallowed_count, "events in the list of devices, whose end is lost");
  report(Code::time_out_of_range, counts_.out_of_range, "");
  report(Code::time_out_of_range, counts_.no_time, "GPU events whose time is no number");
  report(Code::time_out_of_range, header.base_out_of_range ? 1 : 0, "baseTimeNanoseconds is ignored");
  report(Code::time_out_of_range, unrecorded_count, "GPU events outside the time that the profiler recorded");
  report(Code::event_damaged, lacks_kernels ? kernels.missing() : 0, kernels.text());
  report(Code::time_out_of_range, markers.count, markers.first);
  report(Code::profiler_warning, markers.open.empty() ? 0 : 1, markers.open);
  report(Code::size_limit, counts_.open_dropped, "begin events still open exceed 64 MB together");
  report(Code::no_gpu_events, trace_.events.start_ns.empty() ? 1 : 0,
         trace_.loss == FileLoss::nothing ? "" : "in what is left of the damaged file");
  report_unknown_bytes(trace_, lent, origin, problems);
}

}  // namespace ccl
