// Micro-batches of a trace without slices of them: stretches of forward or backward launches, cut where the other
// begins and at every message of the pipeline. Pure; local stage.
#pragma once
#include <vector>

#include "metrics/microbatches.hpp"

namespace ccl {

/// dimensions: of the communication of each event row. Launches of several threads are taken in the order of time.
std::vector<MicroBatch> launch_stretches(const RankTrace& trace, const TracePhases& phases,
                                         const std::vector<Dimension>& dimensions);

}  // namespace ccl
