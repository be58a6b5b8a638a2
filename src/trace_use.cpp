#include "trace_use.hpp"

#include <algorithm>

#include "core/freed_memory.hpp"
#include "exchange/record_context.hpp"
#include "metrics/stages.hpp"
#include "metrics/trace_views.hpp"
#include "parse/finish.hpp"

namespace ccl {
namespace {

/// Busy times of each device by kind, merged over its streams.
std::vector<RankSegments> segments_of(const RankTrace& trace, std::vector<BusyLists> whole) {
  std::vector<RankSegments> all;
  for (std::size_t d = 0; d < trace.devices.size(); ++d) {
    for (Intervals* list : {&whole[d].communication, &whole[d].compute, &whole[d].memory})
      if (list->size() < list->capacity() / 4 * 3) list->shrink_to_fit();
    all.push_back({trace.devices[d], std::move(whole[d].communication), std::move(whole[d].compute),
                   std::move(whole[d].memory)});
  }
  return all;
}

/// Empties rows of which no more is read. Large ones go at once, small ones are kept for the next trace.
template <class Rows>
void give_up(Rows& column) {
  constexpr std::size_t large_bytes = std::size_t{4} << 20;
  column.clear();
  Rows gone;
  if (column.capacity_bytes() > large_bytes) gone.swap(column);
}

/// What is freed stays with malloc where something newer lies behind it, and the next list is of another size.
void give_back_freed(const RankTrace& trace) { give_back_freed_memory(trace.events.size()); }

/// By row of trace.groups. A group without collectives does not speak against matching by Seq.
std::vector<bool> sequence_everywhere(const RankTrace& trace) {
  std::vector<bool> everywhere(trace.groups.size(), true);
  for (const Collective& collective : trace.collectives)
    if (collective.sequence < 0) everywhere[collective.group] = false;
  return everywhere;
}

bool reads_slices(const Wants& wants) {
  return wants.annotations || wants.cpu_ops || wants.python || wants.runtime_calls;
}

/// Runs the metrics whose wants are asked for, and takes them off the list.
template <class Asked>
void run_some(std::vector<Metric*>& left, const RankTrace& trace, const LocalContext& context, Asked asked) {
  const auto is_asked = [&](const Metric* metric) { return asked(metric->info().wants); };
  const auto rest = std::stable_partition(left.begin(), left.end(), is_asked);
  for (auto metric = left.begin(); metric != rest; ++metric) {
    (*metric)->local(trace, context);
    if (reads_slices((*metric)->info().wants)) give_back_freed(trace);
  }
  left.erase(left.begin(), rest);
}

}  // namespace

void TraceUse::take(RankTrace& trace, std::int32_t file, std::span<const Processors> lent) const {
  trace.file = file;
  if (!keep_events) give_up(trace.events.correlation);  // launches are joined, events in order: no metric asks
  give_back_freed(trace);
  if (!steps_asked(config).empty())
    for (const Step& step : trace.steps) local.steps_seen.insert(step.number);
  if (!config.input.steps.empty()) select_steps(trace, config.input.steps);
  assign_dimensions(trace, input.workload.mesh);
  BusyNeeds busy;
  for (const auto& metric : metrics) {
    busy.parts |= metric->info().needs_busy_parts;
    busy.lists |= metric->info().needs_busy_lists;
  }
  TraceViews views(trace, any_trace.classifier, lent, busy);
  LocalContext context = any_trace;
  context.views = &views;
  // Metrics that read what few of them read come first, and it goes behind them.
  std::vector<Metric*> left;
  for (const auto& metric : metrics) left.push_back(metric.get());
  run_some(left, trace, context, [](const Wants& wants) { return wants.kernel_shapes; });  // they ask for no phase
  give_up(trace.kernel_shapes);
  if (mark_windows) mark_work(trace, views.phases());
  const auto number = static_cast<std::int32_t>(local.facts.size());
  local.groups.push_back(trace.groups);
  if (keep_events) {
    const bool whole = config.window_start.empty() && config.window_end.empty();
    local.events.push_back(event_rows(trace, views.roles(context.workload), context.strings));
    local.windows.push_back(whole ? Interval{INT64_MIN, INT64_MAX}
                                  : stage_window(trace, config, context.classifier).time);
  }
  // The largest lists are made of these: what else is kept of the trace is made behind them.
  run_some(left, trace, context, [](const Wants& wants) { return wants.python; });
  views.forget_roles();
  run_some(left, trace, context, reads_slices);
  const std::vector<std::uint32_t> synchronised_ns = keep_records ? synchronised_before_ns(trace) : std::vector<std::uint32_t>();
  give_up(trace.slices);
  views.forget_slices();
  give_back_freed(trace);
  records.emplace_back();
  side_by_side(lent, {[&] {
                        if (keep_records) records.back() = make_records(trace, number, synchronised_ns);
                      },
                      [&] { run_some(left, trace, context, [](const Wants&) { return true; }); },
                      [&] {
                        if (keep_records) add_splits(trace, local.first_record.back(), local.splits);
                      },
                      [&] {
                        local.facts.push_back(facts_of(trace, number));
                        local.facts.back().worker = worker;
                        local.sequence_everywhere.push_back(sequence_everywhere(trace));
                      }});
  local.first_record.push_back(local.first_record.back() + records.back().size());
  local.segments.push_back(keep_segments ? segments_of(trace, views.take_whole_busy()) : std::vector<RankSegments>());
  local.chains.push_back(keep_chains ? Chain(trace, any_trace.strings) : Chain());
  give_back_freed(trace);
}

}  // namespace ccl
