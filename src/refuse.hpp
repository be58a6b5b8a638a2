// Requests that turn out to be bad once the traces are read. All are collective and throw the same FatalError on all workers.
#pragma once
#include "analyze.hpp"
#include "comm/comm.hpp"
#include "config/config.hpp"
#include "core/problems.hpp"

namespace ccl {

/// Files that were there and told nothing: a bad request, as if there were none. Says why, of the first few.
[[noreturn]] void refuse_nothing(const Config& config, const Problems& mine, const Comm& comm);

/// A step that is asked for and no trace has.
void refuse_absent_steps(const LocalResults& local, const Config& config, const Comm& comm);

/// Nothing was read before the end was asked for: an older result says more than an empty one.
void keep_older_result(const Config& config, const Comm& comm);

}  // namespace ccl
