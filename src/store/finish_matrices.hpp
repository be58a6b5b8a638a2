// Matrices of all metrics, made ready for the file when they are made: as numbers they are the largest of what a run keeps.
#pragma once
#include <memory>
#include <vector>

#include "comm/comm.hpp"
#include "metrics/metric.hpp"
#include "store/write_table.hpp"

namespace ccl {

/// Takes every worker's slices out of the metrics. The same paths in the same order on all workers. Collective.
std::vector<FinishedMatrix> finish_matrices(const std::vector<std::unique_ptr<Metric>>& metrics, const Comm& comm);
/// Of slices that are there.
std::vector<FinishedMatrix> finish_matrices(std::vector<ResultMatrix> mine, const Comm& comm);

}  // namespace ccl
