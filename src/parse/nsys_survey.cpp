#include "parse/nsys_survey.hpp"

#include <algorithm>
#include <cstdlib>

namespace ccl {

void Communicators::add(Run run, const std::vector<NsysSeat>& seats) {
  std::vector<std::int32_t>& known = ranks[run];
  for (const NsysSeat& seat : seats) {
    known.push_back(seat.rank);
    // A rank in two places is damage, or two exports that claim one rank: neither is believed.
    const auto [at, added] = places[{run, seat.communicator}].try_emplace(seat.rank, seat.place);
    if (!added && at->second != seat.place) at->second = -1;
  }
  std::sort(known.begin(), known.end());
  known.erase(std::unique(known.begin(), known.end()), known.end());
}

std::vector<RankPlace> Communicators::of(Run run, std::uint64_t communicator) const {
  std::vector<RankPlace> all;
  const auto found = places.find({run, communicator});
  const auto known = ranks.find(run);
  if (found == places.end() || known == ranks.end()) return all;
  for (const std::int32_t rank : known->second) {
    const auto at = found->second.find(rank);
    all.push_back({rank, at == found->second.end() ? -1 : at->second});
  }
  return all;
}

void Communicators::align(const std::map<std::string, NsysSession>& by_file) {
  std::map<std::string, const NsysSession*> first;  // by host
  for (const auto& [file, session] : by_file) {
    if (session.host.empty() || session.system_ns < 0) continue;
    const auto [at, added] = first.emplace(session.host, &session);
    const auto key = [](const NsysSession& s) { return std::pair(s.system_ns, s.utc_ns); };
    if (!added && key(session) < key(*at->second)) at->second = &session;
  }
  for (const auto& [file, session] : by_file) {
    const auto at = first.find(session.host);
    if (at == first.end() || session.system_ns < 0) continue;
    const std::int64_t epoch_ns = at->second->utc_ns + (session.system_ns - at->second->system_ns);
    constexpr std::int64_t most_ns = 1'000'000'000;
    if (epoch_ns != session.utc_ns && std::abs(epoch_ns - session.utc_ns) <= most_ns) epochs[file] = epoch_ns;
  }
}

#if !defined(CCL_HAS_SQLITE)
NsysSurvey survey_export(const TraceFile&) { return {}; }
#endif

}  // namespace ccl
