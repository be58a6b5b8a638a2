#include "parse/launch_join.hpp"

#include <algorithm>

#include "parse/packed_numbers.hpp"

namespace ccl {
namespace {

constexpr std::size_t smallest_table = 4096;

void set_launch(EventTable& events, std::uint32_t row, std::int64_t start_ns, std::uint32_t thread) {
  events.launch_ns[row] = start_ns;
  events.launch_thread[row] = thread;
}

}  // namespace

std::size_t LaunchJoin::slot_of(std::int64_t key) const {
  // Ids are dense: taken as they are, ranges of them would pile up on each other.
  const std::uint64_t mixed = static_cast<std::uint64_t>(key) * 0x9e3779b97f4a7c15ULL;
  return (mixed >> 32) * slots_.size() >> 32;
}

std::size_t LaunchJoin::next(std::size_t slot) const { return slot + 1 == slots_.size() ? 0 : slot + 1; }

LaunchJoin::Launch* LaunchJoin::find(std::int64_t key) {
  Launch* const found = find_ascending(key);
  return found != nullptr ? found : find_hashed(key);
}

// In growing steps away from the last one found, then between the last two steps.
LaunchJoin::Launch* LaunchJoin::find_ascending(std::int64_t key) {
  const std::size_t size = ascending_.size();
  if (size == 0 || key < ascending_[0].key || key > ascending_.back().key) return nullptr;
  std::size_t first = std::min(found_at_, size - 1), last = first;
  for (std::size_t step = 1; ascending_[last].key < key; step *= 2) {
    first = last;
    last = std::min(last + step, size - 1);
  }
  for (std::size_t step = 1; ascending_[first].key > key; step *= 2) {
    last = first;
    first -= std::min(first, step);
  }
  Launch* const found = std::lower_bound(ascending_.begin() + first, ascending_.begin() + last, key,
                                         [](const Launch& launch, std::int64_t wanted) { return launch.key < wanted; });
  found_at_ = static_cast<std::size_t>(found - ascending_.begin());
  return found->key == key ? found : nullptr;
}

LaunchJoin::Launch* LaunchJoin::find_hashed(std::int64_t key) {
  if (filled_ == 0) return nullptr;
  for (std::size_t slot = slot_of(key); slots_[slot].key != 0; slot = next(slot))
    if (slots_[slot].key == key) return &slots_[slot];
  return nullptr;
}

// Launches whose event has come go first; only if that frees little the table grows, by a quarter. Either way the rest
// is taken out and put back.
void LaunchJoin::make_room() {
  const std::size_t size = slots_.size();
  Column<Launch> kept;
  for (const Launch& launch : slots_)
    if (launch.key != 0 && launch.state != used) kept.push_back(launch);
  const std::size_t wanted = size == 0 ? smallest_table : kept.size() * 2 > size ? size / 4 * 5 : size;
  slots_.clear();
  slots_.resize(wanted);
  filled_ = kept.size();
  for (const Launch& launch : kept) {
    std::size_t slot = slot_of(launch.key);
    while (slots_[slot].key != 0) slot = next(slot);
    slots_[slot] = launch;
  }
}

void LaunchJoin::add_launch(std::int64_t key, std::int64_t start_ns, std::uint32_t thread, bool graph) {
  if (key == 0) return;
  if (writes_down_) return written_.push_back({key, start_ns, thread & INT32_MAX, graph ? 1U : 0U, events_seen_});
  const Launch launch{key, start_ns, thread, graph ? graph_launch : unused};
  last_launch_ns_ = std::max(last_launch_ns_, start_ns);
  events_before_last_launch_ = events_seen_;
  if (!ascending_.empty() && key <= ascending_.back().key) {
    if (find_ascending(key) == nullptr) add_hashed(launch);
    return;
  }
  if (find_hashed(key) != nullptr) return;
  if (ascending_.size() >= ascending_room_) drop_used();
  ascending_.push_back(launch);
}

void LaunchJoin::add_hashed(const Launch& launch) {
  if ((filled_ + 1) * 4 > slots_.size() * 3) make_room();
  std::size_t slot = slot_of(launch.key);
  for (; slots_[slot].key != 0; slot = next(slot))
    if (slots_[slot].key == launch.key) return;
  slots_[slot] = launch;
  ++filled_;
}

void LaunchJoin::drop_used() {
  std::size_t kept = 0;
  for (const Launch& launch : ascending_)
    if (launch.state != used) ascending_[kept++] = launch;
  ascending_.resize(kept);
  ascending_room_ = std::max(smallest_table, kept + kept / 4);
}

void LaunchJoin::add_event(std::int64_t key, std::uint32_t row, EventTable& events) {
  if (key == 0) return;
  events_seen_ = row + 1;
  if (writes_down_) {
    if (key != events.correlation[row]) waiting_.push_back({key, row});
    return;
  }
  if (Launch* launch = find(key); launch != nullptr) {
    if (launch->state == unused) launch->state = used;
    set_launch(events, row, launch->start_ns, launch->thread);
  } else {
    if (waiting_.size() >= waiting_room_) settle_waiting(events);
    waiting_.push_back({key, row});
  }
}

void LaunchJoin::settle_waiting(EventTable& events) {
  std::size_t kept = 0;
  for (const Waiting& event : waiting_) {
    Launch* const launch = find(event.key);
    if (launch == nullptr) {
      waiting_[kept++] = event;
      continue;
    }
    if (launch->state == unused) launch->state = used;
    set_launch(events, event.row, launch->start_ns, launch->thread);
  }
  waiting_.resize(kept);
  waiting_room_ = std::max(smallest_table, kept + kept / 4);
}

void LaunchJoin::finish(EventTable& events) { settle_waiting(events); }

void LaunchJoin::tell_left_over(RankTrace& trace) const {
  for (const Column<Launch>* launches : {&ascending_, &slots_})
    for (const Launch& launch : *launches) {
      if (launch.key == 0) continue;
      if (launch.state == unused) trace.lone_launches_ns.push_back(launch.start_ns);
      trace.launches_graphs = trace.launches_graphs || launch.state == graph_launch;
    }
  if (2 * std::size_t{events_before_last_launch_} > trace.events.size()) trace.launches_until_ns = last_launch_ns_;
}

void LaunchJoin::pack(const EventTable& events, std::size_t first, std::size_t end, ByteWriter& out) const {
  const auto of = [&](const auto& rows, auto place) {
    const auto from = std::partition_point(rows.begin(), rows.end(), [&](const auto& row) { return row.*place < first; });
    const auto to = std::partition_point(from, rows.end(), [&](const auto& row) { return row.*place < end; });
    return std::span(from, to);
  };
  const std::span<const Written> launches = of(written_, &Written::before_event);
  const auto count = launches.size();
  out.value<std::uint64_t>(count);
  pack_differences(count, [&](std::size_t i) { return static_cast<std::int64_t>(launches[i].before_event); }, out);
  pack_differences(count, [&](std::size_t i) { return launches[i].key; }, out);
  pack_differences(count, [&](std::size_t i) { return launches[i].start_ns; }, out);
  pack_numbers(count, [&](std::size_t i) { return std::uint64_t{launches[i].thread}; }, out);
  pack_numbers(count, [&](std::size_t i) { return std::uint64_t{launches[i].graph}; }, out);
  const std::span<const Waiting> waiting = of(waiting_, &Waiting::row);
  out.value<std::uint64_t>(waiting.size());
  pack_differences(waiting.size(), [&](std::size_t i) { return std::int64_t{waiting[i].row}; }, out);
  // Nearly always the correlation, which is there already.
  pack_numbers(waiting.size(), [&](std::size_t i) {
    return static_cast<std::uint64_t>(waiting[i].key) - static_cast<std::uint64_t>(events.correlation[waiting[i].row]);
  }, out);
}

void LaunchJoin::unpack(ByteReader& in, const EventTable& events) {
  const std::span<Written> launches = written_.add_rows(in.value<std::uint64_t>());
  unpack_differences(in, [&](std::size_t i, std::int64_t row) { launches[i].before_event = static_cast<std::uint32_t>(row); });
  unpack_differences(in, [&](std::size_t i, std::int64_t key) { launches[i].key = key; });
  unpack_differences(in, [&](std::size_t i, std::int64_t ns) { launches[i].start_ns = ns; });
  unpack_numbers(in, [&](std::size_t i, std::uint64_t thread) { launches[i].thread = static_cast<std::uint32_t>(thread) & INT32_MAX; });
  unpack_numbers(in, [&](std::size_t i, std::uint64_t graph) { launches[i].graph = graph & 1U; });
  const std::span<Waiting> waiting = waiting_.add_rows(in.value<std::uint64_t>());
  unpack_differences(in, [&](std::size_t i, std::int64_t row) { waiting[i].row = static_cast<std::uint32_t>(row); });
  unpack_numbers(in, [&](std::size_t i, std::uint64_t more) {
    waiting[i].key = static_cast<std::int64_t>(more + static_cast<std::uint64_t>(events.correlation[waiting[i].row]));
  });
}

void LaunchJoin::replay(const LaunchJoin& written, std::uint32_t first_event, std::span<const std::uint32_t> threads,
                        EventTable& events) {
  const Written* next = written.written_.begin();
  const Waiting* other = written.waiting_.begin();
  const auto add_launches = [&](std::uint64_t up_to) {
    for (; next != written.written_.end() && next->before_event <= up_to; ++next)
      add_launch(next->key, next->start_ns, threads[next->thread], next->graph != 0);
  };
  for (std::uint32_t row = first_event; row < events.size(); ++row) {
    add_launches(row - first_event);
    const bool is_other = other != written.waiting_.end() && other->row + first_event == row;
    add_event(is_other ? (other++)->key : events.correlation[row], row, events);
  }
  add_launches(UINT64_MAX);
}

void LaunchJoin::clear() {
  ascending_.clear();
  slots_.clear();
  waiting_.clear();
  written_.clear();
  writes_down_ = false;
  ascending_room_ = found_at_ = filled_ = waiting_room_ = 0;
  last_launch_ns_ = absent_ns;
  events_seen_ = events_before_last_launch_ = 0;
}

}  // namespace ccl
