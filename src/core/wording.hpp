// How numbers, steps and ranks are written for people: in page lines, messages and text files.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/ids.hpp"

namespace ccl {

std::string milliseconds(double ns);  // "12.34 ms"; µs below 0.1 ms, s above 10 s
std::string microseconds(double ns);  // "12.3 us", whatever the size
std::string percent(double ratio);    // "12.3 %"
std::string gigabytes(double bytes);  // "1.23 GB" (1e9), MB, kB, B below
std::string gigabytes_per_s(double bytes_per_s);
std::string counted(std::size_t count, const std::string& thing);  // "1 step", "3 steps"
std::string step_name(StepId step);                                // "step 9 (iteration_10)", "step 9"

/// A name in a line: what is longer than `most` bytes is cut and ends in "…".
std::string short_name(std::string_view name, std::size_t most = 60);

std::string rank_name(std::int32_t replica, RankId rank);  // "rank 2", "rank 2 of replica 1"

}  // namespace ccl
