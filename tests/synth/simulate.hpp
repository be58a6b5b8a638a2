// The discrete-event simulation: every queue of every GPU in order, members of a collective wait for each other and
// leave together.
#pragma once
#include "job.hpp"
#include "work.hpp"

namespace synth {

/// Throws std::logic_error if the job can not go on (a schedule that deadlocks is a bug of this program).
JobRun simulate(const Job& job, const Topology& topology);

}  // namespace synth
