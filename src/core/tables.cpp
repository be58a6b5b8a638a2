#include "core/tables.hpp"

#include "core/collective_math.hpp"

namespace ccl {

void EventTable::clear() {
  start_ns.clear();
  dur_ns.clear();
  name.clear();
  lane.clear();
  kind.clear();
  step.clear();
  correlation.clear();
  launch_ns.clear();
  launch_thread.clear();
}

std::int64_t Collective::in_bytes() const {
  const std::int64_t size = element_bytes(dtype);
  return in_elements < 0 || size == 0 ? -1 : in_elements * size;
}

std::int64_t Collective::out_bytes() const {
  const std::int64_t size = element_bytes(dtype);
  return out_elements < 0 || size == 0 ? -1 : out_elements * size;
}

void RankTrace::clear() {
  RankTrace fresh;
  fresh.events = std::move(events);
  fresh.memory_operations = std::move(memory_operations);
  fresh.kernel_shapes = std::move(kernel_shapes);
  fresh.collectives = std::move(collectives);
  fresh.memory_usage = std::move(memory_usage);
  fresh.slices = std::move(slices);
  fresh.counters = std::move(counters);
  fresh.events.clear();
  fresh.memory_operations.clear();
  fresh.kernel_shapes.clear();
  fresh.collectives.clear();
  fresh.memory_usage.clear();
  fresh.slices.clear();
  fresh.counters.clear();
  *this = std::move(fresh);
}

}  // namespace ccl
