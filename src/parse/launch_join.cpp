#include "parse/launch_join.hpp"

namespace ccl {
namespace {

constexpr std::size_t smallest_table = 4096;

void set_launch(EventTable& events, std::uint32_t row, std::int64_t start_ns, std::uint32_t thread) {
  events.launch_ns[row] = start_ns;
  events.launch_thread[row] = thread;
}

}  // namespace

std::size_t LaunchJoin::slot_of(std::int64_t key) const {
  const auto bits = static_cast<std::uint64_t>(key);
  return (bits ^ (bits >> 32)) & mask_;
}

LaunchJoin::Launch* LaunchJoin::find(std::int64_t key) {
  if (filled_ == 0) return nullptr;
  for (std::size_t slot = slot_of(key); slots_[slot].key != 0; slot = (slot + 1) & mask_)
    if (slots_[slot].key == key) return &slots_[slot];
  return nullptr;
}

// Launches whose event has come go first; only if that frees little the table doubles. Either way the rest is taken
// out at the end of the column and put back.
void LaunchJoin::make_room() {
  const std::size_t size = slots_.size();
  Column<Launch> kept;
  for (const Launch& launch : slots_)
    if (launch.key != 0 && launch.state != used) kept.push_back(launch);
  const std::size_t wanted = size == 0 ? smallest_table : kept.size() * 2 > size ? size * 2 : size;
  slots_.clear();
  slots_.resize(wanted);
  mask_ = wanted - 1;
  filled_ = kept.size();
  for (const Launch& launch : kept) {
    std::size_t slot = slot_of(launch.key);
    while (slots_[slot].key != 0) slot = (slot + 1) & mask_;
    slots_[slot] = launch;
  }
}

void LaunchJoin::add_launch(std::int64_t key, std::int64_t start_ns, std::uint32_t thread, bool graph) {
  if (key == 0) return;
  if ((filled_ + 1) * 8 > slots_.size() * 7) make_room();
  std::size_t slot = slot_of(key);
  for (; slots_[slot].key != 0; slot = (slot + 1) & mask_)
    if (slots_[slot].key == key) return;
  slots_[slot] = {key, start_ns, thread, graph ? graph_launch : unused};
  ++filled_;
}

void LaunchJoin::add_event(std::int64_t key, std::uint32_t row, EventTable& events) {
  if (key == 0) return;
  if (Launch* launch = find(key); launch != nullptr) {
    if (launch->state == unused) launch->state = used;
    set_launch(events, row, launch->start_ns, launch->thread);
  } else {
    waiting_.push_back({key, row});
  }
}

void LaunchJoin::finish(EventTable& events) {
  for (const Waiting& event : waiting_)
    if (const Launch* launch = find(event.key); launch != nullptr)
      set_launch(events, event.row, launch->start_ns, launch->thread);
}

void LaunchJoin::clear() {
  slots_.clear();
  waiting_.clear();
  filled_ = 0;
  mask_ = 0;
}

}  // namespace ccl
