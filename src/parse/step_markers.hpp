// Step markers as a file tells them -> CPU steps that can be meant. Times of markers can be wrong like those of any event,
// and one that lasts an hour would decide the step time of a run.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/tables.hpp"

namespace ccl {

/// By number. One that occurs twice keeps its first window, widened while the others overlap it (one marker per thread).
void sort_steps(std::vector<Step>& steps);

enum class MarkerOrder : std::uint8_t {
  one_after_the_other,  // as PyTorch's profiler sets them
  any                   // as a program sets them: the next may begin before one ends, but not end too
};

struct InvalidMarkers {
  std::int64_t count = 0, left_out_count = 0;
  std::string first;  // "step 7 lasts 3600.000 s and goes on behind the begin of step 8"
  std::string open;   // the same of the last one, which PyTorch leaves open and ends when it writes the trace; not counted
};

/// A marker that ends before it begins, behind the begin of the next (behind the end of the next, in any order) or behind
/// what was recorded ends where the next begins, the last one where the recording ends. One that has no end then, or begins
/// outside the recording, is left out. recorded: what the profiler says of itself; empty if it says nothing. Steps of one
/// kind, in order of their numbers, each once.
InvalidMarkers settle_markers(std::vector<Step>& steps, MarkerOrder order, Interval recorded = {});

}  // namespace ccl
