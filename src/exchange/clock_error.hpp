// Whether clocks are known well enough for windows and paths over all ranks of a step.
#pragma once
#include <string>

#include "exchange/ranks.hpp"
#include "exchange/records.hpp"

namespace ccl {

/// Several hosts, or one whose ranks show several clocks.
bool has_several_clocks(const Ranks& ranks, const ClockModel& clock);

/// "the clocks of the ranks are known to 209 ms only, more than a tenth of a step (17.0 ms)"; empty where they are
/// known better, and on one host whose ranks show one clock. Also where a host has no common clock with the others and its
/// times show that: ranks that are in one step begin it more than two steps apart.
std::string clock_error_text(const Ranks& ranks, const ClockModel& clock);

}  // namespace ccl
