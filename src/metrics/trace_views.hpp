// What several metrics need of the trace that is in memory: merged busy lists, the CPU slices around each launch, the
// phase of each event and what it is for. Made when the first metric asks, gone with the trace. Local stage.
#pragma once
#include <optional>

#include "core/launch_context.hpp"
#include "metrics/busy.hpp"
#include "metrics/microbatches.hpp"
#include "metrics/phases.hpp"

namespace ccl {

class TraceViews {
 public:
  /// The trace must not move or change while anything of it is used.
  /// busy: what some metric asks for.
  TraceViews(const RankTrace& trace, const Classifier& classifier, std::span<const Processors> lent = {}, BusyNeeds busy = {})
      : trace_(trace), classifier_(classifier), lent_(lent), busy_needs_(busy) {}

  const BusyTrace& busy() { return made(busy_, [&] { return BusyTrace(trace_, lent_, busy_needs_); }); }
  /// The lists of the whole file, for who outlives the trace; busy() and what else it made are gone.
  std::vector<BusyLists> take_whole_busy() {
    busy();
    std::vector<BusyLists> whole = busy_->take_whole();
    busy_.reset();
    return whole;
  }
  /// All that was made of CPU slices is gone.
  void forget_slices() {
    launches_.reset();
    rules_.reset();
    phases_.reset();
    forget_roles();
  }
  void forget_roles() { roles_.reset(); }
  const LaunchContext& launches() { return made(launches_, [&] { return launch_context(trace_); }); }
  const SliceRules& rules() { return made(rules_, [&] { return SliceRules(trace_, classifier_); }); }
  const TracePhases& phases() { return made(phases_, [&] { return trace_phases(trace_, launches(), rules()); }); }
  /// workload: the same in every call.
  const EventRoles& roles(const Workload& workload) {
    return made(roles_, [&] { return event_roles(trace_, launches(), phases(), classifier_.training(), workload); });
  }

 private:
  template <class View, class Make>
  const View& made(std::optional<View>& view, Make make) {
    if (!view) view.emplace(make());
    return *view;
  }

  const RankTrace& trace_;
  const Classifier& classifier_;
  std::span<const Processors> lent_;
  BusyNeeds busy_needs_;
  std::optional<BusyTrace> busy_;
  std::optional<LaunchContext> launches_;
  std::optional<SliceRules> rules_;
  std::optional<TracePhases> phases_;
  std::optional<EventRoles> roles_;
};

}  // namespace ccl
