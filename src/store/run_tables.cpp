#include "store/run_tables.hpp"

#include <functional>
#include <map>
#include <utility>

#include "core/number_list.hpp"
#include "exchange/coverage.hpp"

namespace ccl {
namespace {

template <class Row>
using Specs = std::vector<ColumnSpec<Row>>;

template <class Row>
void integers(Specs<Row>& specs, std::string name, std::string unit, std::string description,
              std::optional<std::int64_t> absent, std::function<std::int64_t(const Row&)> value) {
  specs.push_back(
      integer_column<Row>(std::move(name), std::move(unit), std::move(description), absent, std::move(value)));
}
template <class Row>
void texts(Specs<Row>& specs, std::string name, std::string description, std::function<std::string(const Row&)> value) {
  specs.push_back(text_column<Row>(std::move(name), std::move(description), std::move(value)));
}

using E = RankEntry;

void add_identity(Specs<E>& all, const Input& input) {
  integers<E>(all, "iteration", "", "number of the iteration folder", -1, [](const E& e) { return e.iteration; });
  integers<E>(all, "replica", "", "number of the TorchTitan replica", -1, [](const E& e) { return e.replica; });
  integers<E>(all, "rank", "", "rank of the training run, within the replica", -1,
              [](const E& e) { return e.rank.value; });
  texts<E>(all, "rank_source", "what told the rank", [](const E& e) { return std::string(to_text(e.source)); });
  texts<E>(all, "host", "host of the rank; ?<rank> if unknown", [](const E& e) { return e.host; });
  texts<E>(all, "host_source", "what told the host", [](const E& e) { return std::string(to_text(e.host_source)); });
  integers<E>(all, "device", "", "ordinal of the first GPU with events", -1,
              [](const E& e) { return e.facts.devices.empty() ? -1 : e.facts.devices.front(); });
  integers<E>(all, "devices_count", "", "GPUs with events in the trace", {},
              [](const E& e) { return static_cast<std::int64_t>(e.facts.devices.size()); });
  texts<E>(all, "gpu", "name of the GPU as the trace gives it", [](const E& e) { return e.facts.gpu; });
  const auto file = [&input](const E& e) -> const TraceFile* {
    const auto i = static_cast<std::size_t>(e.facts.file);
    return i < input.files.size() ? &input.files[i] : nullptr;
  };
  texts<E>(all, "file", "trace file, relative to the trace folder",
           [file](const E& e) { return file(e) == nullptr ? "" : file(e)->shown; });
  texts<E>(all, "format", "format of the trace file",
           [file](const E& e) { return std::string(to_text(file(e) == nullptr ? TraceFormat() : file(e)->format)); });
  integers<E>(all, "file_bytes", "bytes", "size of the file as it lies on disk", -1,
              [file](const E& e) { return file(e) == nullptr ? -1 : file(e)->bytes; });
}

using LostSteps = std::map<const RankEntry*, StepNumbers>;

void add_contents(Specs<E>& all, const LostSteps& lost) {
  integers<E>(all, "events_count", "", "complete events in the file", {},
              [](const E& e) { return e.facts.events_count; });
  integers<E>(all, "gpu_events_count", "", "GPU events", {}, [](const E& e) { return e.facts.gpu_events_count; });
  integers<E>(all, "outside_events_count", "", "GPU events launched outside every step", {},
              [](const E& e) { return e.facts.outside_events_count; });
  integers<E>(all, "lost_events_count", "", "damaged events that were left out", {},
              [](const E& e) { return e.facts.lost_events_count; });
  const auto lost_of = [&lost](const E& e) {
    const auto at = lost.find(&e);
    return at == lost.end() ? StepNumbers() : at->second;
  };
  integers<E>(all, "lost_steps_count", "", "steps that lost events with the damage of the file: in no number told by step",
              {}, [lost_of](const E& e) { return static_cast<std::int64_t>(lost_of(e).size()); });
  texts<E>(all, "lost_steps", "their numbers, as other ranks number them; consecutive ones folded",
           [lost_of](const E& e) { return number_list(lost_of(e), SIZE_MAX, 3); });
  integers<E>(all, "first_ns", "ns", "start of the first GPU event, clock of the file", absent_ns,
              [](const E& e) { return e.facts.first_ns; });
  integers<E>(all, "last_ns", "ns", "end of the last GPU event, clock of the file", absent_ns,
              [](const E& e) { return e.facts.last_ns; });
  integers<E>(all, "world_size", "", "number of ranks as this trace tells it", -1,
              [](const E& e) { return e.facts.world_size; });
  texts<E>(all, "status", "whether the trace is whole", [](const E& e) { return std::string(to_text(e.status)); });
}

void add_clock(Specs<E>& all, const ClockModel& clock) {
  const auto host = [&clock](const E& e) {
    const auto i = static_cast<std::size_t>(e.host_index);
    return e.host_index >= 0 && i < clock.hosts.size() ? &clock.hosts[i] : nullptr;
  };
  // Iterations, and messages that were over before they were sent, change the offset in the course of the run.
  integers<E>(all, "clock_offset_ns", "ns",
              "corrected time = t + clock_offset_ns + clock_drift_ppb x (t - clock_t_ref_ns) / 1e9, t being a time of the file "
              "and clock_t_ref_ns an attribute of the root; the offset at its first GPU event",
              absent_ns, [host, &clock](const E& e) {
                if (!host(e) || !host(e)->corrected) return absent_ns;
                return e.facts.first_ns == absent_ns ? host(e)->offset_ns : clock.offset_ns(e.host_index, e.facts.first_ns);
              });
  integers<E>(all, "clock_drift_ppb", "ppb", "what the host's clock loses against that of the reference host", absent_ns,
              [host](const E& e) { return host(e) && host(e)->corrected ? host(e)->drift_ppb : absent_ns; });
  integers<E>(all, "clock_residual_ns", "ns", "95th percentile of what the correction leaves", -1,
              [host](const E& e) { return host(e) ? host(e)->residual_ns : -1; });
}

void add_mesh(Specs<E>& all, const Mesh& mesh) {
  const auto place = [&](const std::string& name, const std::string& what, std::int64_t MeshPlace::*member) {
    integers<E>(all, name, "", "position in " + what, -1,
                [mesh, member](const E& e) { return mesh_place(mesh, e.rank).*member; });
  };
  place("pp", "pipeline parallelism (stage)", &MeshPlace::pp);
  place("dp_replicate", "replicated data parallelism", &MeshPlace::dp_replicate);
  place("dp_shard", "sharded data parallelism", &MeshPlace::dp_shard);
  place("cp", "context parallelism", &MeshPlace::cp);
  place("tp", "tensor parallelism", &MeshPlace::tp);
  place("ep", "expert parallelism", &MeshPlace::ep);
}

}  // namespace

MeshPlace mesh_place(const Mesh& mesh, RankId rank) {
  if (!mesh.known() || !rank.known() || rank.value >= mesh.world()) return {};
  MeshPlace place;
  std::int64_t left = rank.value;
  const auto take = [&left](std::int64_t size) {
    const std::int64_t position = left % size;
    left /= size;
    return position;
  };
  place.tp = take(mesh.tp);
  // Experts lie over consecutive ranks of dp·cp, in both TorchTitan's and Megatron's rank order.
  place.ep = left % mesh.ep;
  place.cp = take(mesh.cp);
  place.dp_shard = take(mesh.dp_shard);
  place.dp_replicate = take(mesh.dp_replicate);
  place.pp = left;
  return place;
}

ResultTable rank_table(const Results& results) {
  Specs<E> all;
  add_identity(all, results.input);
  LostSteps lost;
  for (PartlyRead& part : partly_read(results.ranks)) lost[part.entry] = std::move(part.lost_steps);
  add_contents(all, lost);
  add_clock(all, results.clock);
  add_mesh(all, results.input.workload.mesh);
  return make_table("ranks", "one row per analysed trace: iteration, replica and rank", all, results.ranks.entries);
}

ResultTable step_table(const Ranks& ranks) {
  struct R {
    const RankEntry* entry;
    const Step* step;
    const DeviceWindow* window;
  };
  std::vector<R> rows;
  for (const RankEntry& entry : ranks.entries)
    for (const Step& step : entry.facts.steps)
      for (const DeviceWindow& window : step.devices) rows.push_back({&entry, &step, &window});
  Specs<R> all;
  integers<R>(all, "iteration", "", "number of the iteration folder", -1,
              [](const R& r) { return r.entry->iteration; });
  integers<R>(all, "step", "", "number of the ProfilerStep in the file", {}, [](const R& r) { return r.step->number; });
  integers<R>(all, "replica", "", "number of the TorchTitan replica", -1, [](const R& r) { return r.entry->replica; });
  integers<R>(all, "rank", "", "rank of the training run", -1, [](const R& r) { return r.entry->rank.value; });
  integers<R>(all, "device", "", "GPU ordinal", {}, [](const R& r) { return r.window->device; });
  integers<R>(all, "start_ns", "ns", "start of the CPU step, clock of the file", absent_ns,
              [](const R& r) { return r.step->start_ns; });
  integers<R>(all, "end_ns", "ns", "end of the CPU step, clock of the file", absent_ns,
              [](const R& r) { return r.step->end_ns; });
  integers<R>(all, "gpu_start_ns", "ns", "start of the step's first GPU event, clock of the file", absent_ns,
              [](const R& r) { return r.window->gpu_start_ns; });
  integers<R>(all, "gpu_end_ns", "ns", "end of the step's last GPU event, clock of the file", absent_ns,
              [](const R& r) { return r.window->gpu_end_ns; });
  integers<R>(all, "gap_ns", "ns", "device idle between everything earlier and the first GPU event of the step", {},
              [](const R& r) { return r.window->gap_ns; });
  integers<R>(all, "step_shift", "", "added to step to compare with other ranks; not 0 if their numbers differ", {},
              [](const R& r) { return r.entry->step_shift; });
  texts<R>(all, "source", "marker: ProfilerStep; span: no markers, the whole GPU span is one step",
           [](const R& r) { return std::string(to_text(r.step->source)); });
  return make_table("steps", "one row per step, rank and GPU", all, rows);
}

}  // namespace ccl
