// Rows to the worker that makes their report: a binomial tree for each metric, all of them in the same log2(workers)
// rounds. Cost: every row travels log2(workers) times at most; a worker ends with the folded rows of its metrics (bytes
// are returned for /timings).
#pragma once
#include <memory>
#include <vector>

#include "comm/comm.hpp"
#include "core/problems.hpp"
#include "core/strings.hpp"
#include "metrics/metric.hpp"

namespace ccl {

/// Which worker makes the report of each metric: the one that takes longest first (rows by MetricInfo::report_weight), to
/// whoever has least so far. The same on all workers. Collective.
std::vector<int> share_reports(const std::vector<std::unique_ptr<Metric>>& metrics, const Comm& comm);

/// Folds the rows of all workers: those of metric i on worker owners[i], where it is complete then. Some metrics at a time,
/// so that no worker has a second copy of all its rows. Warnings end on worker 0, texts too, and on all where another owns
/// a metric. Collective. Returns the bytes sent.
std::int64_t merge(std::vector<std::unique_ptr<Metric>>& metrics, const std::vector<int>& owners, StringTable& strings,
                   Problems& problems, const Comm& comm);

}  // namespace ccl
