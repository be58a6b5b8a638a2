// The clocks of the hosts: what a file says for an instant of the true clock.
#pragma once
#include "job.hpp"

namespace synth {

struct HostClock {
  std::int64_t offset_ns = 0, drift_ppb = 0;
};

/// Host 0 is right; the others are off by at most the job's limits.
HostClock clock_of(const Job& job, int host);

/// Unix time of the true clock's zero.
constexpr std::int64_t epoch_ns = 1'790'000'000'000'000'000;

class FileClock {
 public:
  FileClock(const Job& job, int rank);
  /// Ns that stand in the file (baseTimeNanoseconds added) at true time t.
  std::int64_t file_ns(std::int64_t t) const {
    return epoch_ns + t + clock_.offset_ns + t * clock_.drift_ppb / 1'000'000'000;
  }
  /// The number behind `ts`.
  std::int64_t stamp_ns(std::int64_t t) const { return file_ns(t) - base_ns_; }
  std::int64_t base_ns() const { return base_ns_; }  // 0: the style has no baseTimeNanoseconds

 private:
  HostClock clock_;
  std::int64_t base_ns_;
};

}  // namespace synth
