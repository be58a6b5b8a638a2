// Which ranks a verdict on ranks leaves out. Report stage.
#pragma once
#include <cstdint>
#include <string>

#include "exchange/ranks.hpp"

namespace ccl {

/// Who is in the run but not judged in all its steps, or (then only in `all`) has no trace: "rank 5 in steps 8, 9, rank 6
/// in any step (lost with the damage of the file)"; "" if there is none.
struct NotJudged {
  std::string with_trace, all;
};
/// across_ranks: a rank whose steps fit no other's is not judged either.
enum class StepsBy : std::uint8_t { across_ranks, rank_alone };
NotJudged not_judged(const Ranks& ranks, StepsBy by = StepsBy::across_ranks);

}  // namespace ccl
