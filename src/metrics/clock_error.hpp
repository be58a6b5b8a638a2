// Whether clocks are known well enough for windows and paths over all ranks of a step. Report stage.
#pragma once
#include <string>

#include "metrics/metric.hpp"

namespace ccl {

/// Several hosts, or one whose ranks show several clocks.
bool has_several_clocks(const ReportContext& context);

/// "the clocks of the ranks are known to 209 ms only, more than a tenth of a step (17.0 ms)"; empty where they are
/// known better, and on one host whose ranks show one clock.
std::string clock_error_text(const ReportContext& context);

/// Makes such a metric absent; says on the page that it is unknown.
bool tells_clock_error(const ReportContext& context, const std::string& label, Report& out);

}  // namespace ccl
