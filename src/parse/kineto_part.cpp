// A part of a file on its way to the worker that puts the file together. Out: one parcel with the small tables, then
// the GPU events and launches in parcels of bounded size, column by column in few bytes. In, at the other end: everything
// gets the number it would have had if one builder had read the whole file, and launches are joined in its order.
#include <algorithm>

#include "parse/kineto_build.hpp"
#include "parse/packed_numbers.hpp"

namespace ccl {
namespace {

constexpr std::size_t events_in_parcel = std::size_t{1} << 13;  // about 200 KB, which stay in the cache of both ends

template <class T>
void append(Column<T>& to, const std::vector<T>& rows) {
  const std::size_t before = to.size();
  to.resize(before + rows.size());
  std::copy(rows.begin(), rows.end(), to.begin() + before);
}

void pack(const std::vector<std::string>& texts, ByteWriter& out) {
  out.value<std::uint64_t>(texts.size());
  for (const std::string& text : texts) out.text(text);
}

std::vector<std::string> unpack_texts(ByteReader& in) {
  std::vector<std::string> texts(in.value<std::uint64_t>());
  for (std::string& text : texts) text = in.text();
  return texts;
}

void pack(const StringTable& strings, ByteWriter& out) {
  out.value<std::uint64_t>(strings.size());
  for (std::uint32_t i = 0; i < strings.size(); ++i) out.text(strings.text(i));
}

}  // namespace

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

std::size_t KinetoBuilder::parcels_count() const {
  return (trace_.events.size() + events_in_parcel - 1) / events_in_parcel + 1;
}

Bytes KinetoBuilder::pack_tables() const {
  ByteWriter out;
  pack(trace_.strings, out);
  pack(raw_names_, out);
  std::vector<std::string> threads(threads_.size());
  for (const auto& [key, number] : threads_) threads[number] = key;
  pack(threads, out);
  out.array(trace_.lanes);
  out.value<std::uint64_t>(trace_.steps.size());
  for (const Step& step : trace_.steps) {
    out.value(step.number);
    out.value(step.start_ns);
    out.value(step.end_ns);
  }
  out.array(trace_.memory_operations.span());
  out.array(trace_.kernel_shapes.span());
  out.array(trace_.memory_usage.span());
  trace_.slices.pack(out);
  out.array(operators_.span());
  out.array(trace_.collectives);
  out.array(trace_.splits);
  communication_.pack(trace_, out);
  out.value(trace_.events_count);
  out.value(trace_.lost_events_count);
  out.value(trace_.launches_count);
  out.value(counts_);
  out.value(any_event_);
  return out.take();
}

Bytes KinetoBuilder::pack_events(std::size_t parcel) const {
  const EventTable& events = trace_.events;
  const std::size_t first = std::min(parcel * events_in_parcel, events.size());
  const std::size_t count = std::min(events_in_parcel, events.size() - first);
  ByteWriter out;
  out.value<std::uint64_t>(count);
  pack_differences(count, [&](std::size_t i) { return events.start_ns[first + i]; }, out);
  pack_differences(count, [&](std::size_t i) { return events.correlation[first + i]; }, out);
  pack_numbers(count, [&](std::size_t i) { return static_cast<std::uint64_t>(events.dur_ns[first + i]); }, out);
  pack_numbers(count, [&](std::size_t i) { return std::uint64_t{events.name[first + i]}; }, out);
  pack_numbers(count, [&](std::size_t i) { return std::uint64_t{events.lane[first + i]}; }, out);
  pack_numbers(count, [&](std::size_t i) { return static_cast<std::uint64_t>(events.kind[first + i]); }, out);
  launches_.pack(events, first, parcel + 1 == parcels_count() ? SIZE_MAX : first + count, out);
  return out.take();
}

void KinetoBuilder::absorb_tables(ByteReader& in) {
  part_ = {};
  part_.first_event = static_cast<std::uint32_t>(trace_.events.size());
  for (const std::string& text : unpack_texts(in)) part_.names.push_back(trace_.strings.index(text));
  const std::vector<std::string> raw_names = unpack_texts(in);
  for (const std::string& text : unpack_texts(in)) {
    const auto [found, is_new] = threads_.try_emplace(text, static_cast<std::uint32_t>(trace_.threads.size()));
    if (is_new) trace_.threads.push_back(clean_text(text));
    part_.threads.push_back(found->second);
  }
  for (const Lane& from : in.array<Lane>()) part_.lanes.push_back(lane(from.device, from.stream));
  for (auto left = in.value<std::uint64_t>(); left > 0; --left) {
    Step& step = trace_.steps.emplace_back();
    step.number = in.value<std::int64_t>();
    step.start_ns = in.value<std::int64_t>();
    step.end_ns = in.value<std::int64_t>();
  }
  const auto add_rows = [&](auto& to, auto rows) {
    for (auto& row : rows) {
      row.event += part_.first_event;
      to.push_back(row);
    }
  };
  add_rows(trace_.memory_operations, in.array<MemoryOperation>());
  add_rows(trace_.kernel_shapes, in.array<KernelShape>());
  append(trace_.memory_usage, in.array<MemoryUsage>());
  const CpuSlices slices = CpuSlices::unpack(in);
  absorb_slices(slices, in.array<Operator>(), raw_names);
  const auto first_collective = static_cast<std::uint32_t>(trace_.collectives.size());
  const auto first_split = static_cast<std::uint32_t>(trace_.splits.size());
  add_rows(trace_.collectives, in.array<Collective>());
  const std::vector<std::int64_t> splits = in.array<std::int64_t>();
  trace_.splits.insert(trace_.splits.end(), splits.begin(), splits.end());
  communication_.absorb(in, trace_, {first_collective, first_split, part_.threads});
  trace_.events_count += in.value<std::int64_t>();
  trace_.lost_events_count += in.value<std::int64_t>();
  trace_.launches_count += in.value<std::int64_t>();
  const auto counts = in.value<Counts>();
  for (std::int64_t Counts::*one : {&Counts::negative, &Counts::out_of_range, &Counts::open_dropped, &Counts::no_time,
                                    &Counts::no_duration})
    counts_.*one += counts.*one;
  any_event_ = in.value<bool>() || any_event_;
}

// Operators of no rule in their place among the slices: whether they repeat a forward depends on the parts before.
void KinetoBuilder::absorb_slices(const CpuSlices& slices, const std::vector<Operator>& operators,
                                  const std::vector<std::string>& raw_names) {
  std::size_t next = 0;
  const auto take_operators = [&](std::size_t slices_before) {
    for (; next < operators.size() && operators[next].slices_before <= slices_before; ++next) {
      const Operator& from = operators[next];
      const std::uint32_t thread = part_.threads[from.thread];
      const std::string& name = raw_names[from.name];
      if (from.is_node) {
        add_node(thread, from.start_ns, from.end_ns, name);
      } else if (Node* const node = node_around(thread, from.start_ns, name); node != nullptr) {
        node->repeated_until_ns = from.end_ns;
        trace_.slices.push_back({from.start_ns, from.end_ns, names_.index(names_.find(name)), thread, SliceKind::cpu_op,
                                 from.sequence >= 0});
      }
    }
  };
  for (std::size_t i = 0; i < slices.size(); ++i) {
    take_operators(i);
    CpuSlice slice = slices[i];
    slice.name = part_.names[slice.name];
    slice.thread = part_.threads[slice.thread];
    trace_.slices.push_back(slice);
  }
  take_operators(SIZE_MAX);
}

void KinetoBuilder::absorb_events(ByteReader& in) {
  EventTable& events = trace_.events;
  const std::size_t first = events.size();
  const std::size_t size = first + in.value<std::uint64_t>();
  const auto resize = [size](auto&... columns) { (columns.resize(size), ...); };
  resize(events.start_ns, events.dur_ns, events.name, events.lane, events.kind, events.step, events.correlation,
         events.launch_ns, events.launch_thread);
  unpack_differences(in, [&](std::size_t i, std::int64_t ns) { events.start_ns[first + i] = ns; });
  unpack_differences(in, [&](std::size_t i, std::int64_t number) { events.correlation[first + i] = number; });
  unpack_numbers(in, [&](std::size_t i, std::uint64_t ns) { events.dur_ns[first + i] = static_cast<std::int64_t>(ns); });
  unpack_numbers(in, [&](std::size_t i, std::uint64_t name) { events.name[first + i] = part_.names[name]; });
  unpack_numbers(in, [&](std::size_t i, std::uint64_t lane) { events.lane[first + i] = part_.lanes[lane]; });
  unpack_numbers(in, [&](std::size_t i, std::uint64_t kind) { events.kind[first + i] = static_cast<EventKind>(kind); });
  std::fill(events.step.begin() + first, events.step.end(), -1);
  std::fill(events.launch_ns.begin() + first, events.launch_ns.end(), absent_ns);
  launches_.replay(in, part_.first_event, part_.threads, events);
}

}  // namespace ccl
