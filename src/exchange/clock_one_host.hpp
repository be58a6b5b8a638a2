// Whether ranks that are said to share a host share a clock: the members of a symmetric collective leave within
// microseconds, so the usual difference of two ranks' ends on one host tells how far their clocks are apart.
// Moves: 40 bytes per communicator, step and rank beyond the first of a host to the host's owner, 24 per host to all.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "comm/comm.hpp"
#include "exchange/ranks.hpp"
#include "exchange/records.hpp"

namespace ccl {

/// Collective. Of each host whose ranks show more than one clock the two that are farthest apart, by host.
std::vector<ClocksApart> clocks_apart(const MatchedCollectives& matched, const Ranks& ranks, const Comm& comm);

/// "ranks 0 and 4 on host box disagree by 776 us: probably not one host, or wrong times (give --host-map)"
std::string clocks_apart_text(const ClocksApart& pair, const Ranks& ranks);

}  // namespace ccl
