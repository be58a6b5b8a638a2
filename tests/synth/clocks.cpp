#include "clocks.hpp"

#include "random.hpp"

namespace synth {

HostClock clock_of(const Job& job, int host) {
  if (host == 0) return {};
  const std::int64_t grain = job.time_grain_ns();
  HostClock clock;
  clock.offset_ns = between(draw(job.seed, 41, host), -job.clock_offset_ns, job.clock_offset_ns) / grain * grain;
  if (grain == 1) clock.drift_ppb = between(draw(job.seed, 42, host), -job.clock_drift_ppb, job.clock_drift_ppb);
  return clock;
}

FileClock::FileClock(const Job& job, int rank) : clock_(clock_of(job, rank / job.ranks_per_host)) {
  // Every process rounds its own start: files of one job differ in their base.
  base_ns_ = job.style == Style::old_names ? 0 : epoch_ns - 5'000'000'000'000 - std::int64_t{rank} * 1'048'576'000;
}

}  // namespace synth
