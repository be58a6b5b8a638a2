// Metrics over all ranks of a step are absent where clocks are not known well enough for them. Report stage.
#pragma once
#include <string>

#include "exchange/clock_error.hpp"
#include "metrics/format.hpp"
#include "metrics/metric.hpp"

namespace ccl {

/// Makes such a metric absent; says on the page that it is unknown.
inline bool tells_clock_error(const ReportContext& context, const std::string& label, Report& out) {
  const std::string why = clock_error_text(context.ranks, context.clock);
  if (why.empty()) return false;
  out.absent(why);
  add_line(out.page, label, "unknown: " + why);
  return true;
}

}  // namespace ccl
