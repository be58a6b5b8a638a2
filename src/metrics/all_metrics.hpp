// The list of metrics, in the order of the page and of /metrics. Adding one: its file, one line in all_metrics.cpp,
// one test.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "metrics/metric.hpp"

namespace ccl {

/// Fresh metrics of the given names (canonical or alias, any case); all of them if names is empty. Throws
/// FatalError(bad_request) with a suggestion for an unknown name.
std::vector<std::unique_ptr<Metric>> start_metrics(const std::vector<std::string>& names);
/// What every registered metric says of itself, in order.
std::vector<MetricInfo> metric_list();

}  // namespace ccl
