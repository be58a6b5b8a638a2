// Numbers in a line of text, consecutive ones folded: ranks, steps, iterations.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace ccl {

/// "0-3, 7 and 12 more": each once, ascending; at most `most` ranges are shown, and those of at least `fold` numbers are
/// written with a dash.
std::string number_list(std::vector<std::int64_t> numbers, std::size_t most, std::size_t fold);

/// Of ranks in a line of the page.
std::string rank_list(const std::vector<std::int32_t>& ranks, std::size_t most = 6);
/// The same behind its noun: "rank 5", "ranks 0-3, 7".
std::string ranks_text(const std::vector<std::int32_t>& ranks);

}  // namespace ccl
