// How many ranks a run can have at most. What says more is damaged, or no rank: a date or a time in a file's name.
#pragma once
#include <cstdint>

namespace ccl {

constexpr std::int64_t largest_world = std::int64_t{1} << 20;

}  // namespace ccl
