#include "metrics/phases.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include "core/intervals.hpp"

namespace ccl {
namespace {

constexpr std::string_view engine = "autograd::engine::evaluate_function";

/// What kinds of thread a trace has, and which slices decide.
struct Evidence {
  std::vector<bool> autograd;          // by thread: runs backward nodes and neither steps nor optimizers
  std::set<std::uint32_t> repeatable;  // names of annotations that ran on another kind of thread
  bool exact_optimizer = false;        // some slice says "step": then an annotation "optimizer" around it says nothing
  bool any = false;
};

bool is_optimizer_step(std::string_view name) {
  return name.find("step") != std::string_view::npos || name.find("Step") != std::string_view::npos;
}

bool is_zero_grad(std::string_view name) { return name.find("zero_grad") != std::string_view::npos; }

Evidence gather(const RankTrace& trace, const SliceRules& rules) {
  Evidence out;
  out.autograd.resize(trace.threads.size());
  std::vector<bool> commands(trace.threads.size());
  for (std::size_t i = 0; i < trace.slices.size(); ++i) {
    const CpuSlice& slice = trace.slices[i];
    const std::string_view name = trace.strings.text(slice.name);
    if (rules[i] == "backward" && name.starts_with(engine)) out.autograd[slice.thread] = true;
    if (rules[i] == "step" || rules[i] == "optimizer") commands[slice.thread] = true;
    if (rules[i] == "optimizer" && is_optimizer_step(name)) out.exact_optimizer = true;
    if (rules[i] == "backward" || rules[i] == "optimizer") out.any = true;
  }
  for (std::size_t thread = 0; thread < commands.size(); ++thread)
    if (commands[thread]) out.autograd[thread] = false;
  for (const CpuSlice& slice : trace.slices)
    if (slice.kind == SliceKind::user_annotation && !out.autograd[slice.thread]) out.repeatable.insert(slice.name);
  return out;
}

/// What the slices around a launch and its thread say; nothing if only its time can tell.
class PhaseOfLaunch {
 public:
  PhaseOfLaunch(const RankTrace& trace, const LaunchContext& context, const SliceRules& rules, const Evidence& evidence)
      : trace_(trace), context_(context), rules_(rules), evidence_(evidence) {}

  std::optional<Phase> operator()(std::size_t event) const {
    std::optional<Phase> found;
    context_.find(trace_, event, [&](const CpuSlice& slice) { return decides(slice, found); });
    if (!found && evidence_.autograd[trace_.events.launch_thread[event]]) return Phase::backward;
    return found;
  }

 private:
  bool decides(const CpuSlice& slice, std::optional<Phase>& found) const {
    const std::string_view rule = rules_.of(slice);
    if (rule == "recompute" || repeats_forward(slice, rule) || repeats_operator(slice, rule)) return found = Phase::recompute, true;
    if (rule == "backward") return found = Phase::backward, true;
    if (rule == "grad_clip") return found = Phase::grad_clip, true;
    if (rule == "data_loading") return found = Phase::other, true;
    if (rule != "optimizer") return false;
    const std::string_view name = trace_.strings.text(slice.name);
    if (evidence_.exact_optimizer && !is_optimizer_step(name) && !is_zero_grad(name)) return false;
    return found = Phase::optimizer, true;
  }
  // FSDP, communication and compiler annotations of a forward have namesakes in every backward.
  bool repeats_forward(const CpuSlice& slice, std::string_view rule) const {
    return slice.kind == SliceKind::user_annotation && evidence_.autograd[slice.thread] &&
           (rule.empty() || rule == "module" || rule == "moe" || rule == "loss") &&
           evidence_.repeatable.contains(slice.name);
  }
  // The reader keeps operators without a rule only where they repeat a forward; the loss may be repeated too.
  bool repeats_operator(const CpuSlice& slice, std::string_view rule) const {
    return slice.kind == SliceKind::cpu_op && slice.numbered &&
           (rule.empty() || (rule == "loss" && evidence_.autograd[slice.thread]));
  }

  const RankTrace& trace_;
  const LaunchContext& context_;
  const SliceRules& rules_;
  const Evidence& evidence_;
};

}  // namespace

std::string_view to_text(Phase phase) {
  static constexpr std::string_view names[] = {"forward", "recompute", "backward", "grad_clip", "optimizer", "other"};
  return names[static_cast<std::size_t>(phase)];
}

SliceRules::SliceRules(const RankTrace& trace, const Classifier& classifier)
    : trace_(trace), rules_(trace.strings.size()) {
  std::vector<bool> asked(trace.strings.size());
  for (const CpuSlice& slice : trace.slices) {
    if (asked[slice.name]) continue;
    asked[slice.name] = true;
    rules_[slice.name] = classifier.slice_rule(trace.strings.text(slice.name));
  }
}

TracePhases trace_phases(const RankTrace& trace, const LaunchContext& context, const SliceRules& rules) {
  const Evidence evidence = gather(trace, rules);
  TracePhases out;
  out.known = evidence.any;
  if (!out.known) return out;
  const EventTable& events = trace.events;
  out.by_event.assign(events.size(), Phase::other);
  // Times that bound the phases of a step; the last row is for events outside every step.
  std::vector<std::int64_t> backward_ns(trace.steps.size() + 1, absent_ns);
  std::vector<std::int64_t> optimizer_ns(trace.steps.size() + 1, absent_ns);
  const auto step_of = [&](std::size_t i) {
    return events.step[i] < 0 ? trace.steps.size() : static_cast<std::size_t>(events.step[i]);
  };
  std::vector<bool> by_time(events.size());
  const PhaseOfLaunch phase_of(trace, context, rules, evidence);
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (events.launch_ns[i] == absent_ns) continue;
    const std::optional<Phase> phase = phase_of(i);
    by_time[i] = !phase;
    if (phase) out.by_event[i] = *phase;
    if (phase == Phase::backward || phase == Phase::recompute)
      backward_ns[step_of(i)] = std::max(backward_ns[step_of(i)], events.launch_ns[i]);
  }
  for (std::size_t i = 0; i < events.size(); ++i) {
    std::int64_t& first = optimizer_ns[step_of(i)];
    const bool updates = out.by_event[i] == Phase::optimizer && events.launch_ns[i] > backward_ns[step_of(i)];
    if (updates && (first == absent_ns || events.launch_ns[i] < first)) first = events.launch_ns[i];
  }
  for (std::size_t i = 0; i < events.size(); ++i) {
    const std::size_t step = step_of(i);
    if (!by_time[i] || backward_ns[step] == absent_ns) continue;
    if (events.launch_ns[i] < backward_ns[step])
      out.by_event[i] = Phase::forward;
    else if (optimizer_ns[step] != absent_ns && events.launch_ns[i] < optimizer_ns[step])
      out.by_event[i] = Phase::grad_clip;
  }
  return out;
}

void mark_work(RankTrace& trace, const TracePhases& phases) {
  const EventTable& events = trace.events;
  struct Work {
    Interval phases{INT64_MAX, INT64_MIN}, any{INT64_MAX, INT64_MIN};
  };
  std::vector<Work> found(trace.steps.size());
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (events.kind[i] != EventKind::compute || events.step[i] < 0) continue;
    Work& work = found[static_cast<std::size_t>(events.step[i])];
    work.any.start_ns = std::min(work.any.start_ns, events.start_ns[i]);
    work.any.end_ns = std::max(work.any.end_ns, events.end_ns(i));
    if (!phases.known) continue;
    if (phases.by_event[i] == Phase::forward) work.phases.start_ns = std::min(work.phases.start_ns, events.start_ns[i]);
    if (phases.by_event[i] == Phase::backward) work.phases.end_ns = std::max(work.phases.end_ns, events.end_ns(i));
  }
  for (std::size_t s = 0; s < found.size(); ++s) {
    Step& step = trace.steps[s];
    step.work_by_phases = found[s].phases.start_ns < found[s].phases.end_ns;
    const Interval window = step.work_by_phases ? found[s].phases : found[s].any;
    if (window.start_ns >= window.end_ns) continue;
    step.work_start_ns = window.start_ns;
    step.work_end_ns = window.end_ns;
  }
}

}  // namespace ccl
