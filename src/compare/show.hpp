// A comparison as a page of text, as JSON and as an HDF5 file.
#pragma once
#include <string>
#include <vector>

#include "compare/compare_runs.hpp"
#include "compare/fail_if.hpp"

namespace ccl {

struct CompareRequest {
  std::vector<std::string> files;    // the first is what the others are compared with
  std::vector<std::string> metrics;  // empty = all
  std::vector<Bound> bounds;
  std::string hdf5;       // empty = none
  std::int64_t top = 10;  // changed rows shown per section
  bool json = false, force = false;
};

/// What was compared and judged; judged runs in the order of request.files, bounds within.
struct CompareResults {
  // Of request.files: "8 of 8 ranks analysed; 6 steps, pp=2 tp=2, NVIDIA H100, complete"; "7 of 8 ranks analysed, missing
  // 3; 6 steps".
  std::vector<std::string> descriptions;
  std::vector<Comparison> comparisons;    // of each later file with the first
  std::vector<std::vector<JudgedBound>> judged;
};

std::string describe(const StoredRun& run);
/// At most 100 columns wide.
std::string comparison_page(const CompareRequest& request, const CompareResults& results);
std::string comparison_json(const CompareResults& results);
/// /figures, /notes and /bounds. Throws FatalError if it cannot be written.
void write_comparison(const std::string& path, const CompareResults& results);

/// Of second / first - 1: "+7.0 %", "-0.3 %"; from 10 times the first value on "x 279", of the values; "-" where it is
/// absent.
std::string change_text(double ratio);
/// Of the half-width over the first value: "5.2 %"; from 10 times the first value on "11.7 x".
std::string band_text(double ratio);

}  // namespace ccl
