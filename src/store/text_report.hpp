// The text report under --report-dir: throughput, overlap, network load, traffic distribution, as the predecessor of this
// program printed them. Numbers come from the metrics' results; a section whose metric was not computed says so. Worker 0.
#pragma once
#include <ctime>
#include <string>

#include "store/results.hpp"

namespace ccl {

/// "<YYYYmmdd-HHMMSS UTC>_<model>_dp<rep>x<shard>_tp<tp>_gpu<world>.txt"; unknown parts "x".
std::string text_report_name(const Results& results, std::time_t now);

std::string text_report(const Results& results, std::time_t now);

/// Writes it, adding -2, -3, … to a name that is taken; returns the path. Throws FatalError(runtime_failure).
std::string write_text_report(const Results& results, std::time_t now);

}  // namespace ccl
