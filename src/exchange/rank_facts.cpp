#include <algorithm>

#include "core/largest_world.hpp"
#include "exchange/ranks.hpp"

namespace ccl {
namespace {

/// Members tell more than a size: that of a list that does not fit it may be wrong.
std::int64_t least_world_size(const RankTrace& trace) {
  std::int64_t least = -1;
  for (const ProcessGroup& group : trace.groups) {
    const std::int64_t size =
        group.members.empty() ? group.size : std::int64_t{*std::max_element(group.members.begin(), group.members.end())} + 1;
    if (size > least && size <= largest_world) least = size;
  }
  return least;
}

}  // namespace

void RankFacts::pack(ByteWriter& out) const {
  out.value(worker);
  out.value(local);
  out.value(file);
  out.value(iteration);
  out.value(replica);
  out.value(rank);
  out.value(rank_source);
  out.value(world_size);
  out.value(least_world_size);
  out.value(events_count);
  out.value(gpu_events_count);
  out.value(outside_events_count);
  out.value(lost_events_count);
  out.value(loss);
  out.value(first_ns);
  out.value(last_ns);
  out.value(gpus_in_node);
  out.value(gpu_memory_bytes);
  out.value(has_launches);
  out.value(fingerprint);
  out.text(host);
  out.text(gpu);
  out.text(framework_version);
  out.array(devices);
  out.value<std::uint64_t>(steps.size());
  for (const Step& step : steps) {
    out.value(step.number);
    out.value(step.start_ns);
    out.value(step.end_ns);
    out.value(step.source);
    out.array(step.devices);
    out.value(step.lost_events);
    out.value(step.work_start_ns);
    out.value(step.work_end_ns);
    out.value(step.work_by_phases);
  }
}

RankFacts RankFacts::unpack(ByteReader& in) {
  RankFacts f;
  f.worker = in.value<std::int32_t>();
  f.local = in.value<std::int32_t>();
  f.file = in.value<std::int32_t>();
  f.iteration = in.value<std::int32_t>();
  f.replica = in.value<std::int32_t>();
  f.rank = in.value<RankId>();
  f.rank_source = in.value<RankSource>();
  f.world_size = in.value<std::int64_t>();
  f.least_world_size = in.value<std::int64_t>();
  f.events_count = in.value<std::int64_t>();
  f.gpu_events_count = in.value<std::int64_t>();
  f.outside_events_count = in.value<std::int64_t>();
  f.lost_events_count = in.value<std::int64_t>();
  f.loss = in.value<FileLoss>();
  f.first_ns = in.value<std::int64_t>();
  f.last_ns = in.value<std::int64_t>();
  f.gpus_in_node = in.value<std::int32_t>();
  f.gpu_memory_bytes = in.value<std::int64_t>();
  f.has_launches = in.value<bool>();
  f.fingerprint = in.value<std::uint64_t>();
  f.host = in.text();
  f.gpu = in.text();
  f.framework_version = in.text();
  f.devices = in.array<std::int32_t>();
  f.steps.resize(in.value<std::uint64_t>());
  for (Step& step : f.steps) {
    step.number = in.value<std::int64_t>();
    step.start_ns = in.value<std::int64_t>();
    step.end_ns = in.value<std::int64_t>();
    step.source = in.value<StepSource>();
    step.devices = in.array<DeviceWindow>();
    step.lost_events = in.value<bool>();
    step.work_start_ns = in.value<std::int64_t>();
    step.work_end_ns = in.value<std::int64_t>();
    step.work_by_phases = in.value<bool>();
  }
  return f;
}

RankFacts facts_of(const RankTrace& trace, std::int32_t local) {
  RankFacts f;
  f.local = local;
  f.file = trace.file;
  f.iteration = trace.iteration;
  f.replica = trace.replica;
  f.rank = trace.rank;
  f.rank_source = trace.rank_source;
  f.world_size = trace.world_size;
  f.least_world_size = least_world_size(trace);
  f.events_count = trace.events_count;
  f.gpu_events_count = static_cast<std::int64_t>(trace.events.size());
  f.outside_events_count = trace.outside_events_count;
  f.lost_events_count = trace.lost_events_count;
  f.loss = trace.loss;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    if (f.first_ns == absent_ns || trace.events.start_ns[i] < f.first_ns) f.first_ns = trace.events.start_ns[i];
    f.last_ns = std::max(f.last_ns, trace.events.end_ns(i));
  }
  f.gpus_in_node = trace.gpus_in_node;
  f.gpu_memory_bytes = trace.gpu_memory_bytes;
  f.has_launches = trace.has_launches();
  f.fingerprint = trace.fingerprint;
  f.host = trace.host;
  f.gpu = trace.gpu;
  f.framework_version = trace.framework_version;
  f.devices = trace.devices;
  f.steps = trace.steps;
  return f;
}

}  // namespace ccl
