// Which files lost something: the page and stderr name them. In: warnings of all workers; out: lines, the worst first.
#pragma once
#include <string>
#include <vector>

#include "store/results.hpp"

namespace ccl {

/// "rank 3, iteration_10/rank3_trace.json: file_cut at byte 81234 (…), 12 event_damaged": one line for each of the worst
/// files, and "and 9 more files; all in /warnings/rows". By severity, then by what was lost of events and warnings, then
/// by name. Empty where nothing was lost.
std::vector<std::string> loss_lines(const Results& results, std::size_t most);

}  // namespace ccl
