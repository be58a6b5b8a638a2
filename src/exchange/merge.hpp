// Rows up: a binomial tree to worker 0. Cost: every row travels log2(workers) times at most; worker 0 ends with the
// folded rows of all (bytes are returned for /timings).
#pragma once
#include <memory>
#include <vector>

#include "comm/comm.hpp"
#include "core/problems.hpp"
#include "core/strings.hpp"
#include "metrics/metric.hpp"

namespace ccl {

/// Folds the metrics' rows, texts and warnings of all workers into worker 0's. Collective. Returns the bytes sent.
std::int64_t merge(std::vector<std::unique_ptr<Metric>>& metrics, StringTable& strings, Problems& problems,
                   const Comm& comm);

}  // namespace ccl
