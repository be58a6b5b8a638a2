// Sizes of messages that no GPU could hold: no trace writes them, but a wrong number among thousands would be the whole sum.
#pragma once
#include "core/problems.hpp"
#include "core/tables.hpp"

namespace ccl {

/// Makes them unknown, or where In tells what Out must be, or Out what In, what that says. origin: the file, for the warning.
void forget_impossible_sizes(RankTrace& trace, const Problem& origin, Problems& problems);

}  // namespace ccl
