#include "metrics/microbatches.hpp"

#include <algorithm>
#include <array>
#include <tuple>

#include "metrics/busy.hpp"
#include "metrics/microbatch_stretches.hpp"

namespace ccl {
namespace {

bool is_root(SliceRole role) {
  return role == SliceRole::forward_microbatch || role == SliceRole::backward_microbatch ||
         role == SliceRole::weight_microbatch || role == SliceRole::combined_microbatch;
}

bool is_part(SliceRole role) {
  return role == SliceRole::forward_part || role == SliceRole::backward_part || role == SliceRole::forward_microbatch ||
         role == SliceRole::backward_microbatch || role == SliceRole::weight_microbatch;
}

bool decides(SliceRole role) {
  return role == SliceRole::recompute || role == SliceRole::grad_norm || role == SliceRole::loss ||
         role == SliceRole::data_loading || role == SliceRole::optimizer;
}

bool is_call_site(SliceRole role) { return role >= SliceRole::dp_communication; }

Evidence evidence_of(const CpuSlice& slice) {
  return slice.kind == SliceKind::python_function ? Evidence::python : Evidence::annotation;
}

/// What the slices say that a slice lies in, itself included. Rows of slices, −1 = none.
struct Around {
  std::int32_t root = -1;     // outermost micro-batch
  std::int32_t part = -1;     // innermost slice that tells a direction
  std::int32_t decided = -1;  // innermost slice that decides on a phase
  std::int32_t call = -1;     // innermost call site of communication
};

class RoleFinder {
 public:
  RoleFinder(const RankTrace& trace, const LaunchContext& launches, const TracePhases& phases,
             const TrainingRules& rules, const Workload& workload)
      : trace_(trace), launches_(launches), phases_(phases), rules_(rules), workload_(workload) {}

  EventRoles find() {
    read_slices();
    add_roots();
    const std::size_t count = trace_.events.size();
    out_.known = phases_.known || !out_.microbatches.empty();
    out_.phase.assign(count, TrainingPhase::unclassified);
    out_.category.assign(count, WorkCategory::unclassified);
    out_.evidence.assign(count, Evidence::none);
    out_.microbatch.assign(count, -1);
    dimensions_.assign(count, Dimension::unknown);
    operations_.assign(count, CollectiveOp::unknown);
    for_each_communication(trace_, [&](std::size_t event, const Collective* collective) {
      dimensions_[event] = dimension_of(trace_, collective);
      // A pipeline's kernel of which nothing is known may be either.
      operations_[event] = collective == nullptr ? CollectiveOp::send_recv : collective->op;
    });
    if (out_.known) {
      if (out_.microbatches.empty()) add_stretches();
      drop_empty_halves();
      const auto [own_stage, stages] = stage();
      number_microbatches(out_, workload_, static_cast<std::int32_t>(trace_.steps.size()), own_stage, stages);
      for (std::size_t i = 0; i < count; ++i) place(i);
    }
    for (std::size_t i = 0; i < count; ++i) out_.category[i] = category_of(i);
    return std::move(out_);
  }

 private:
  void read_slices() {
    std::vector<bool> asked(trace_.strings.size());
    roles_.assign(trace_.strings.size(), SliceRole::none);
    for (const CpuSlice& slice : trace_.slices)
      if (!asked[slice.name]) roles_[slice.name] = rules_.role(trace_.strings.text(slice.name)), asked[slice.name] = true;
  }

  SliceRole role(std::int32_t slice) const {
    return slice < 0 ? SliceRole::none : roles_[trace_.slices[static_cast<std::size_t>(slice)].name];
  }
  std::string_view text(std::int32_t slice) const {
    return trace_.strings.text(trace_.slices[static_cast<std::size_t>(slice)].name);
  }

  std::int32_t step_at(std::int64_t time_ns) const {
    for (std::size_t s = 0; s < trace_.steps.size(); ++s) {
      const Step& step = trace_.steps[s];
      if (step.source == StepSource::span || (step.start_ns <= time_ns && time_ns < step.end_ns))
        return static_cast<std::int32_t>(s);
    }
    return -1;
  }

  // Ranges of NVTX are repeated on the threads that work for them; micro-batches of a rank do not nest.
  std::vector<std::size_t> roots() const {
    std::vector<std::size_t> all, outermost;
    for (std::size_t s = 0; s < trace_.slices.size(); ++s)
      if (is_root(roles_[trace_.slices[s].name]) && around_slice(static_cast<std::int32_t>(s)).root == static_cast<std::int32_t>(s))
        all.push_back(s);
    std::sort(all.begin(), all.end(), [&](std::size_t a, std::size_t b) {
      const CpuSlice &x = trace_.slices[a], &y = trace_.slices[b];
      return std::tuple(x.start_ns, -x.end_ns, a) < std::tuple(y.start_ns, -y.end_ns, b);
    });
    std::int64_t until_ns = absent_ns;
    for (const std::size_t s : all)
      if (trace_.slices[s].end_ns > until_ns) outermost.push_back(s), until_ns = trace_.slices[s].end_ns;
    return outermost;
  }

  void add_roots() {
    for (const std::size_t s : roots()) {
      const CpuSlice& slice = trace_.slices[s];
      MicroBatch root{slice.start_ns, slice.end_ns, step_at(slice.start_ns), -1, -1, Direction::forward};
      if (root.step < 0) continue;
      const SliceRole kind = roles_[slice.name];
      if (kind == SliceRole::backward_microbatch) root.direction = Direction::backward;
      if (kind == SliceRole::weight_microbatch) root.direction = Direction::weight;
      const std::string_view name = trace_.strings.text(slice.name);
      root.number = rules_.microbatch_number(name);
      root.chunk = rules_.chunk_number(name);
      root.woven = kind == SliceRole::combined_microbatch;
      out_.microbatches.push_back(root);
      if (!root.woven) continue;
      // Its name tells of the forward first.
      const std::size_t second = name.find("backward");
      if (second != std::string_view::npos) root.chunk = rules_.chunk_number(name.substr(second));
      root.direction = Direction::backward;
      out_.microbatches.push_back(root);
    }
    sort_roots();
    if (!out_.microbatches.empty()) out_.numbers = NumberSource::order;
  }

  void sort_roots() {
    std::sort(out_.microbatches.begin(), out_.microbatches.end(), [](const MicroBatch& a, const MicroBatch& b) {
      return std::tuple(a.step, a.start_ns, a.direction) < std::tuple(b.step, b.start_ns, b.direction);
    });
  }

  void add_stretches() {
    out_.microbatches = launch_stretches(trace_, phases_, dimensions_);
    sort_roots();
    if (!out_.microbatches.empty()) out_.numbers = NumberSource::launch_order;
  }

  // Stage and number of stages, by the pipeline's group.
  std::pair<std::int32_t, std::int32_t> stage() const {
    for (const ProcessGroup& group : trace_.groups) {
      if (group.dimension != Dimension::pp || !group.members_complete()) continue;
      const auto at = std::find(group.members.begin(), group.members.end(), trace_.rank.value);
      if (at != group.members.end()) return {static_cast<std::int32_t>(at - group.members.begin()), group.size};
    }
    return {-1, std::max(1, workload_.mesh.known() ? workload_.mesh.pp : 1)};
  }

  /// The first and the last of a row of woven pairs have only one half.
  void drop_empty_halves() {
    std::vector<bool> used(out_.microbatches.size());
    bool any = false;
    for (std::size_t m = 0; m < used.size(); ++m) used[m] = !out_.microbatches[m].woven, any |= out_.microbatches[m].woven;
    if (!any) return;
    for (const CpuSlice& slice : trace_.slices)
      if (is_part(roles_[slice.name])) parts_.push_back(slice);
    std::stable_sort(parts_.begin(), parts_.end(),
                     [](const CpuSlice& a, const CpuSlice& b) { return a.start_ns < b.start_ns; });
    for (std::size_t i = 0; i < trace_.events.size(); ++i) {
      const std::int32_t row = trace_.events.launch_ns[i] == absent_ns ? -1 : row_of(i, around_launch(i));
      if (row >= 0 && trace_.events.kind[i] == EventKind::compute) used[static_cast<std::size_t>(row)] = true;
    }
    std::size_t kept = 0;
    for (std::size_t m = 0; m < used.size(); ++m)
      if (used[m]) out_.microbatches[kept++] = out_.microbatches[m];
    out_.microbatches.resize(kept);
  }

  static bool is_forward_part(SliceRole part) {
    return part == SliceRole::forward_part || part == SliceRole::forward_microbatch;
  }

  /// A walk outwards: lists of it for all slices would be 16 bytes each.
  Around around_slice(std::int32_t slice) const {
    Around out;
    for (; slice >= 0; slice = launches_.parent[static_cast<std::size_t>(slice)]) {
      const SliceRole its = role(slice);
      if (its == SliceRole::none) continue;
      if (is_root(its)) out.root = slice;
      if (is_part(its) && out.part < 0) out.part = slice;
      if (decides(its) && out.decided < 0) out.decided = slice;
      if (is_call_site(its) && out.call < 0) out.call = slice;
    }
    return out;
  }

  Around around_launch(std::size_t i) const {
    return around_slice(launches_.find(trace_, i, [](const CpuSlice&) { return true; }));
  }

  bool is_of_forward(std::size_t i, const Around& around) const {
    const SliceRole part = role(around.part);
    if (part != SliceRole::none) return is_forward_part(part);
    if (phases_.known && (phases_.by_event[i] == Phase::backward || phases_.by_event[i] == Phase::recompute)) return false;
    // Another thread works for what the thread of the micro-batch waits in.
    const std::int64_t time_ns = trace_.events.launch_ns[i];
    auto at = std::upper_bound(parts_.begin(), parts_.end(), time_ns,
                               [](std::int64_t time, const CpuSlice& slice) { return time < slice.start_ns; });
    constexpr std::ptrdiff_t deepest = 16;
    for (std::ptrdiff_t n = 0; at != parts_.begin() && n < deepest; ++n)
      if ((--at)->end_ns > time_ns) return is_forward_part(roles_[at->name]);
    return true;
  }

  /// The micro-batch in whose time it was launched; of two woven ones that of its direction.
  std::int32_t row_of(std::size_t i, const Around& around) const {
    if (trace_.events.step[i] < 0) return -1;
    const std::int32_t row = containing(trace_.events.step[i], trace_.events.launch_ns[i]);
    if (row < 1 || !out_.microbatches[static_cast<std::size_t>(row)].woven) return row;
    const MicroBatch& backward = out_.microbatches[static_cast<std::size_t>(row)];
    const MicroBatch& forward = out_.microbatches[static_cast<std::size_t>(row) - 1];
    const bool pair = forward.woven && forward.step == backward.step && forward.start_ns == backward.start_ns;
    return pair && is_of_forward(i, around) ? row - 1 : row;
  }

  /// The micro-batch of the step that the time falls into: the last that began before it, if it has not ended.
  /// Without stacks stretches cover all launches; the slices of backwards cover what other threads do meanwhile.
  std::int32_t containing(std::int32_t step, std::int64_t time_ns) const {
    const std::int32_t last = last_before(step, time_ns);
    return last >= 0 && time_ns < out_.microbatches[static_cast<std::size_t>(last)].end_ns ? last : -1;
  }
  std::int32_t last_before(std::int32_t step, std::int64_t time_ns) const {
    const auto after = std::upper_bound(
        out_.microbatches.begin(), out_.microbatches.end(), std::pair(step, time_ns),
        [](const auto& at, const MicroBatch& m) { return at < std::pair(m.step, m.start_ns); });
    const auto row = static_cast<std::int32_t>(after - out_.microbatches.begin()) - 1;
    return row >= 0 && out_.microbatches[static_cast<std::size_t>(row)].step == step ? row : -1;
  }

  void place(std::size_t i) {
    const EventTable& events = trace_.events;
    if (events.launch_ns[i] == absent_ns) return;
    const Around around = around_launch(i);
    const std::int32_t step = events.step[i];
    out_.microbatch[i] = row_of(i, around);
    const bool message = is_message(i);
    if (out_.microbatch[i] >= 0 && !(message && out_.numbers == NumberSource::launch_order)) {
      in_microbatch(i, around);
    } else if (message && step >= 0 && between_microbatches(i, around.call)) {
      out_.evidence[i] = Evidence::neighbour;
    } else {
      out_.microbatch[i] = -1;
      outside(i, around);
    }
  }

  void in_microbatch(std::size_t i, const Around& around) {
    const MicroBatch& own = out_.microbatches[static_cast<std::size_t>(out_.microbatch[i])];
    const SliceRole decided = role(around.decided);
    TrainingPhase& phase = out_.phase[i];
    phase = own.direction == Direction::forward ? TrainingPhase::forward : TrainingPhase::backward;
    out_.evidence[i] = around.root >= 0 ? evidence_of(trace_.slices[static_cast<std::size_t>(around.root)])
                       : out_.numbers == NumberSource::launch_order ? Evidence::autograd
                                                                    : Evidence::micro_batch;
    const bool repeats = decided == SliceRole::recompute || (phases_.known && phases_.by_event[i] == Phase::recompute);
    if (own.direction == Direction::forward && decided == SliceRole::loss) phase = TrainingPhase::loss;
    if (own.direction == Direction::forward && decided == SliceRole::data_loading) phase = TrainingPhase::data_loading;
    if (own.direction != Direction::forward && repeats) phase = TrainingPhase::recompute;
  }

  bool is_message(std::size_t i) const {
    if (dimensions_[i] != Dimension::pp) return false;
    const CollectiveOp op = operations_[i];
    return op == CollectiveOp::send || op == CollectiveOp::recv || op == CollectiveOp::send_recv;
  }

  /// A message of the pipeline belongs to the micro-batch it brings (the next) or takes away (the last before it); the
  /// call's name may tell of which direction: send_forward_recv_backward takes a forward's and brings a backward's.
  bool between_microbatches(std::size_t i, std::int32_t call) {
    const bool brings = operations_[i] == CollectiveOp::recv;
    const std::string_view name = call < 0 ? std::string_view() : text(call);
    const auto says = [&](std::string_view word) { return name.find(word) != std::string_view::npos; };
    const bool forward = says(brings ? "recv_forward" : "send_forward");
    const bool backward = says(brings ? "recv_backward" : "send_backward");
    const auto fits = [&](std::size_t row) {
      const Direction direction = out_.microbatches[row].direction;
      return forward == backward || (forward ? direction == Direction::forward : direction != Direction::forward);
    };
    const std::int32_t step = trace_.events.step[i];
    std::int32_t row = last_before(step, trace_.events.launch_ns[i]);
    if (!brings) {
      while (row >= 0 && out_.microbatches[static_cast<std::size_t>(row)].step == step &&
             !fits(static_cast<std::size_t>(row)))
        --row;
    } else {
      const auto first = std::lower_bound(out_.microbatches.begin(), out_.microbatches.end(), step,
                                          [](const MicroBatch& m, std::int32_t s) { return m.step < s; });
      row = row < 0 ? static_cast<std::int32_t>(first - out_.microbatches.begin()) : row + 1;
      const auto count = static_cast<std::int32_t>(out_.microbatches.size());
      while (row < count && !fits(static_cast<std::size_t>(row))) ++row;
      if (row >= count) row = -1;
    }
    if (row < 0 || out_.microbatches[static_cast<std::size_t>(row)].step != step) return false;
    out_.microbatch[i] = row;
    out_.phase[i] = out_.microbatches[static_cast<std::size_t>(row)].direction == Direction::forward
                        ? TrainingPhase::forward
                        : TrainingPhase::backward;
    return true;
  }

  void outside(std::size_t i, const Around& around) {
    static constexpr std::array<TrainingPhase, phase_count> of_phase{
        TrainingPhase::forward,   TrainingPhase::recompute, TrainingPhase::backward,
        TrainingPhase::grad_norm, TrainingPhase::optimizer, TrainingPhase::other};
    TrainingPhase& phase = out_.phase[i];
    phase = TrainingPhase::other;
    out_.evidence[i] = Evidence::autograd;
    switch (role(around.decided)) {
      case SliceRole::grad_norm: phase = TrainingPhase::grad_norm; break;
      case SliceRole::loss: phase = TrainingPhase::loss; break;
      case SliceRole::data_loading: phase = TrainingPhase::data_loading; break;
      case SliceRole::optimizer: phase = TrainingPhase::optimizer; break;
      default: {
        const SliceRole call = role(around.call);
        // What finalises gradients stands between backward and optimizer, and is no gradient norm.
        const Phase found = phases_.known ? phases_.by_event[i] : Phase::other;
        phase = found == Phase::grad_clip && call == SliceRole::dp_communication
                    ? TrainingPhase::other
                    : of_phase[static_cast<std::size_t>(found)];
        return;
      }
    }
    out_.evidence[i] = evidence_of(trace_.slices[static_cast<std::size_t>(around.decided)]);
  }

  WorkCategory category_of(std::size_t i) const {
    const EventKind kind = trace_.events.kind[i];
    if (kind == EventKind::memory_copy || kind == EventKind::memory_set) return WorkCategory::memory;
    const TrainingPhase phase = out_.phase[i];
    if (kind == EventKind::communication) {
      if (phase == TrainingPhase::grad_norm) return WorkCategory::grad_norm;
      if (phase == TrainingPhase::loss && dimensions_[i] != Dimension::tp) return WorkCategory::loss;
      return communication_of(i);
    }
    static constexpr std::array<WorkCategory, training_phase_count> of_phase{
        WorkCategory::forward,   WorkCategory::backward, WorkCategory::recompute,    WorkCategory::optimizer,
        WorkCategory::grad_norm, WorkCategory::loss,     WorkCategory::data_loading, WorkCategory::other,
        WorkCategory::unclassified};
    return of_phase[static_cast<std::size_t>(phase)];
  }

  WorkCategory communication_of(std::size_t i) const {
    switch (dimensions_[i]) {
      case Dimension::dp: return WorkCategory::dp_communication;
      case Dimension::pp: return WorkCategory::pp_communication;
      case Dimension::tp: return WorkCategory::tp_communication;
      case Dimension::ep: return WorkCategory::ep_communication;
      case Dimension::cp: return WorkCategory::cp_communication;
      default: break;
    }
    const std::int32_t innermost = trace_.events.launch_ns[i] == absent_ns ? -1 : launches_.innermost[i];
    switch (innermost < 0 ? SliceRole::none : role(around_slice(innermost).call)) {
      case SliceRole::dp_communication: return WorkCategory::dp_communication;
      case SliceRole::pp_communication: return WorkCategory::pp_communication;
      case SliceRole::tp_communication: return WorkCategory::tp_communication;
      case SliceRole::ep_communication: return WorkCategory::ep_communication;
      case SliceRole::cp_communication: return WorkCategory::cp_communication;
      default: return WorkCategory::other_communication;
    }
  }

  const RankTrace& trace_;
  const LaunchContext& launches_;
  const TracePhases& phases_;
  const TrainingRules& rules_;
  const Workload& workload_;
  EventRoles out_;
  std::vector<SliceRole> roles_;  // by string index
  std::vector<CpuSlice> parts_;   // of woven micro-batches, by start; empty without such
  std::vector<Dimension> dimensions_;
  std::vector<CollectiveOp> operations_;
};

}  // namespace

EventRoles event_roles(const RankTrace& trace, const LaunchContext& launches, const TracePhases& phases,
                       const TrainingRules& rules, const Workload& workload) {
  return RoleFinder(trace, launches, phases, rules, workload).find();
}

EventRoles event_roles(const RankTrace& trace, const Classifier& classifier, const Workload& workload) {
  const LaunchContext launches = launch_context(trace);
  const SliceRules rules(trace, classifier);
  return event_roles(trace, launches, trace_phases(trace, launches, rules), classifier.training(), workload);
}

}  // namespace ccl
