#include "metrics/microbatch_stretches.hpp"

#include <algorithm>
#include <tuple>

namespace ccl {
namespace {

struct Stretch {
  MicroBatch batch;
  std::int64_t compute_count = 0;
  bool cut_before = false;  // a message lies between it and the one before
};

/// Stretches with hardly a kernel are the main thread's small change between two backwards, say.
void drop_slivers(std::vector<Stretch>& all) {
  constexpr std::int64_t share = 20;
  std::int64_t most[2] = {0, 0};
  for (const Stretch& s : all) {
    std::int64_t& of = most[s.batch.direction == Direction::forward ? 0 : 1];
    of = std::max(of, s.compute_count);
  }
  std::vector<Stretch> kept;
  bool cut = false;
  for (const Stretch& s : all) {
    cut |= s.cut_before;
    if (s.compute_count * share < most[s.batch.direction == Direction::forward ? 0 : 1] || s.compute_count == 0) continue;
    const bool joins = !kept.empty() && !cut && kept.back().batch.direction == s.batch.direction &&
                       kept.back().batch.step == s.batch.step;
    if (joins) {
      kept.back().batch.end_ns = s.batch.end_ns;
      kept.back().compute_count += s.compute_count;
    } else {
      kept.push_back(s);
    }
    cut = false;
  }
  all = std::move(kept);
}

}  // namespace

std::vector<MicroBatch> launch_stretches(const RankTrace& trace, const TracePhases& phases,
                                         const std::vector<Dimension>& dimensions) {
  const EventTable& events = trace.events;
  std::vector<std::uint32_t> order;
  if (!phases.known) return {};
  for (std::size_t i = 0; i < events.size(); ++i)
    if (events.step[i] >= 0 && events.launch_ns[i] != absent_ns) order.push_back(static_cast<std::uint32_t>(i));
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::tuple(events.step[a], events.launch_ns[a], a) < std::tuple(events.step[b], events.launch_ns[b], b);
  });
  std::vector<Stretch> all;
  bool cut = true;
  for (const std::uint32_t i : order) {
    if (dimensions[i] == Dimension::pp) {
      cut = true;
      continue;
    }
    const Phase phase = phases.by_event[i];
    const bool forward = phase == Phase::forward, backward = phase == Phase::backward || phase == Phase::recompute;
    if (!forward && !backward) continue;
    const Direction direction = forward ? Direction::forward : Direction::backward;
    const bool continues = !all.empty() && !cut && all.back().batch.step == events.step[i] &&
                           all.back().batch.direction == direction;
    if (!continues) {
      all.push_back({{events.launch_ns[i], 0, events.step[i], -1, -1, direction}, 0, cut});
      cut = false;
    }
    all.back().batch.end_ns = events.launch_ns[i] + 1;
    if (events.kind[i] == EventKind::compute) ++all.back().compute_count;
  }
  drop_slivers(all);
  std::vector<MicroBatch> out;
  for (const Stretch& s : all) out.push_back(s.batch);
  return out;
}

}  // namespace ccl
