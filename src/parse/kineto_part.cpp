// A later part of a file joined to the parts before it: everything gets the number it would have had if one builder had
// read the whole file, and launches are joined in its order.
#include <algorithm>

#include "parse/event_limits.hpp"
#include "parse/kineto_build.hpp"

namespace ccl {
namespace {

template <class T>
void append(Column<T>& to, const Column<T>& rows) {
  std::copy(rows.begin(), rows.end(), to.add_rows(rows.size()).begin());
}

template <class T>
void append_value(Column<T>& to, std::size_t count, T value) {
  const std::span<T> rows = to.add_rows(count);
  std::fill(rows.begin(), rows.end(), value);
}

template <class T>
void append_renumbered(Column<T>& to, const Column<T>& rows, const std::vector<T>& numbers) {
  std::transform(rows.begin(), rows.end(), to.add_rows(rows.size()).begin(), [&](T row) { return numbers[row]; });
}

/// Rows of events behind those that are there.
template <class Rows>
void append_rows(Rows& to, const Rows& rows, std::uint32_t first_event) {
  std::transform(rows.begin(), rows.end(), to.add_rows(rows.size()).begin(), [&](auto row) {
    row.event += first_event;
    return row;
  });
}

}  // namespace

struct KinetoBuilder::PartNumbers {
  std::uint32_t first_event = 0;
  const std::vector<std::uint32_t>&names, &threads;
  std::vector<std::uint16_t> lanes;
};

void KinetoBuilder::add_node(std::uint32_t thread, std::int64_t start_ns, std::int64_t end_ns,
                             std::string_view function) {
  filter_.want_sequence_numbers();
  if (builds_ == BuildsPart::later)
    return operators_.push_back({start_ns, end_ns, trace_.slices.size(), thread, raw_names_.index(function), -1, true});
  Node& node = nodes_[thread];
  node.end_ns = start_ns < node.end_ns ? std::max(node.end_ns, end_ns) : end_ns;
  node.function.assign(function);
}

KinetoBuilder::Node* KinetoBuilder::node_around(std::uint32_t thread, std::int64_t start_ns, std::string_view name) {
  const auto at = nodes_.find(thread);
  if (at == nodes_.end()) return nullptr;
  Node& node = at->second;
  const bool inside = start_ns < node.end_ns && start_ns >= node.repeated_until_ns && name != node.function;
  return inside ? &node : nullptr;
}

bool KinetoBuilder::can_be_a_part() const {
  // Of an unwanted operator the times are not looked at, and which are wanted depends on the parts before.
  const bool bad_times = counts_.negative > 0 || counts_.out_of_range > 0;
  return !paired_ && trace_.lanes.size() < UINT16_MAX && !(wants_.cpu_ops && bad_times);
}

bool KinetoBuilder::start_next_part() {
  constexpr std::size_t most_names = 4096;
  if (trace_.strings.size() + threads_.size() > most_names) return false;
  RankTrace known;
  const auto swap_known = [&] {
    std::swap(known.strings, trace_.strings);
    std::swap(known.threads, trace_.threads);
    std::swap(known.lanes, trace_.lanes);
    std::swap(known.groups, trace_.groups);
  };
  swap_known();
  trace_.clear();
  swap_known();
  launches_.clear();
  launches_.write_down();
  communication_.start_next_part();
  operators_.clear();
  raw_names_.clear();
  counts_ = {};
  recorded_ = {};
  marks_ = {};
  any_event_ = false;
  return true;
}

std::vector<std::string_view> KinetoBuilder::thread_keys() const {
  std::vector<std::string_view> keys(threads_.size());
  for (const auto& [key, number] : threads_) keys[number] = key;
  return keys;
}

void KinetoBuilder::absorb(KinetoBuilder& part) {
  const RankTrace& from = part.trace_;
  PartNumbers numbers{static_cast<std::uint32_t>(trace_.events.size()), part.names_there_, part.threads_there_, {}};
  for (auto i = static_cast<std::uint32_t>(part.names_there_.size()); i < from.strings.size(); ++i)
    part.names_there_.push_back(trace_.strings.index(from.strings.text(i)));
  if (part.threads_there_.size() < part.threads_.size()) {
    part.threads_there_.clear();
    for (const std::string_view key : part.thread_keys()) {
      const auto [found, is_new] = threads_.try_emplace(std::string(key), static_cast<std::uint32_t>(trace_.threads.size()));
      if (is_new) trace_.threads.push_back(clean_text(key));
      part.threads_there_.push_back(found->second);
    }
  }
  for (const Lane& of_part : from.lanes) numbers.lanes.push_back(lane(of_part.device, of_part.stream));
  trace_.steps.insert(trace_.steps.end(), from.steps.begin(), from.steps.end());
  append_rows(trace_.memory_operations, from.memory_operations, numbers.first_event);
  append_rows(trace_.kernel_shapes, from.kernel_shapes, numbers.first_event);
  append(trace_.memory_usage, from.memory_usage);
  absorb_slices(part, numbers);
  const std::size_t first_collective = trace_.collectives.size(), first_split = trace_.splits.size();
  append_rows(trace_.collectives, from.collectives, numbers.first_event);
  trace_.splits.insert(trace_.splits.end(), from.splits.begin(), from.splits.end());
  communication_.absorb(part.communication_, from, trace_, {first_collective, first_split, numbers.threads});
  absorb_events(part, numbers);
  marks_.absorb(part.marks_, trace_.events_count);
  trace_.events_count += from.events_count;
  trace_.lost_events_count += from.lost_events_count;
  trace_.launches_count += from.launches_count;
  for (std::int64_t Counts::*one : {&Counts::negative, &Counts::out_of_range, &Counts::open_dropped, &Counts::no_time,
                                    &Counts::no_duration, &Counts::kernel_launches, &Counts::graph_launches})
    counts_.*one += part.counts_.*one;
  recorded_ = hull(recorded_, part.recorded_);
  any_event_ = part.any_event_ || any_event_;
}

// Operators of no rule in their place among the slices: whether they repeat a forward depends on the parts before.
void KinetoBuilder::absorb_slices(const KinetoBuilder& part, const PartNumbers& numbers) {
  const Operator* next = part.operators_.begin();
  const auto take_operators = [&](std::size_t slices_before) {
    for (; next != part.operators_.end() && next->slices_before <= slices_before; ++next) {
      const std::uint32_t thread = numbers.threads[next->thread];
      const std::string_view name = part.raw_names_.text(next->name);
      if (next->is_node) {
        add_node(thread, next->start_ns, next->end_ns, name);
      } else if (Node* const node = node_around(thread, next->start_ns, name); node != nullptr) {
        node->repeated_until_ns = next->end_ns;
        trace_.slices.push_back({next->start_ns, next->end_ns, names_.index(names_.find(name)), thread, SliceKind::cpu_op,
                                 next->sequence >= 0});
      }
    }
  };
  std::size_t slices_before = 0;
  for (CpuSlice slice : part.trace_.slices) {
    take_operators(slices_before++);
    slice.name = numbers.names[slice.name];
    slice.thread = numbers.threads[slice.thread];
    trace_.slices.push_back(slice);
  }
  take_operators(SIZE_MAX);
}

void KinetoBuilder::absorb_events(const KinetoBuilder& part, const PartNumbers& numbers) {
  const EventTable& from = part.trace_.events;
  EventTable& events = trace_.events;
  append(events.start_ns, from.start_ns);
  append(events.dur_ns, from.dur_ns);
  append_renumbered(events.name, from.name, numbers.names);
  append_renumbered(events.lane, from.lane, numbers.lanes);
  append(events.kind, from.kind);
  append_value(events.step, from.size(), -1);
  append(events.correlation, from.correlation);
  append_value(events.launch_ns, from.size(), absent_ns);
  append_value(events.launch_thread, from.size(), 0U);
  launches_.replay(part.launches_, numbers.first_event, numbers.threads, events);
}

}  // namespace ccl
