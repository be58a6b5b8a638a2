// What exports say of each other, before they are read for good. A communicator of NCCL has one number on all its ranks,
// but each rank tells only its own place, and only in its own export; sessions on one host have one clock. In: of each
// export only what names ranks, communicators and its session. Out: the places of all ranks, and times of event 0.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/tables.hpp"
#include "discover/discover.hpp"

namespace ccl {

/// A rank's place in a communicator.
struct NsysSeat {
  std::uint64_t communicator = 0;
  std::int32_t rank = -1, place = -1;
};

/// When the capture began: by the wall clock, which NTP sets, and by the host's clock since boot (−1 = not told).
struct NsysSession {
  std::string host;
  std::int64_t utc_ns = 0, system_ns = -1;
};

struct NsysSurvey {
  std::vector<NsysSeat> seats;
  NsysSession session;
};

struct Communicators {
  using Run = std::pair<std::int32_t, std::int32_t>;  // iteration, replica
  std::map<Run, std::vector<std::int32_t>> ranks;     // whose places are known, ascending
  std::map<std::pair<Run, std::uint64_t>, std::map<std::int32_t, std::int32_t>> places;  // rank -> place
  std::map<std::string, std::int64_t> epochs;  // by file: wall clock of its event time 0, where it is not its own

  void add(Run run, const std::vector<NsysSeat>& seats);
  /// Of all ranks whose places are known; −1 = no member. Empty for an unknown communicator.
  std::vector<RankPlace> of(Run run, std::uint64_t communicator) const;
  /// Sessions of one host count from its clock since boot; the first of them says what that is by the wall clock. A
  /// session that is off by more than a second ran after another boot and keeps its own.
  void align(const std::map<std::string, NsysSession>& by_file);
};

/// What one SQLite export says; processes whose rank it does not tell are left out. One pass over its names and NVTX
/// ranges. Nothing is reported: the reader names what is wrong with the file.
NsysSurvey survey_export(const TraceFile& file);

}  // namespace ccl
