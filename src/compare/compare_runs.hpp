// All figures of two runs side by side. In: two result files; out: one Comparison, ready to be shown or written.
#pragma once
#include <string>
#include <vector>

#include "compare/change.hpp"
#include "compare/comparable.hpp"
#include "compare/figures.hpp"

namespace ccl {

struct ComparedFigure {
  Figure figure;
  std::string key;  // "" for the whole run, else the rank, operation, kernel ...
  Change change;
  double weight = 0;  // for the order within a section: larger of the two summed numerators, over the repetitions
};

/// A metric that has no figure in one of the files, and why.
struct AbsentMetric {
  std::string metric, why;
};

struct Comparison {
  std::string first, second;  // paths
  Comparability comparability;
  std::vector<ComparedFigure> whole;  // in the order of key_figures()
  std::vector<ComparedFigure> split;  // section by section, the largest effect first
  std::vector<AbsentMetric> absent;
  std::string late;  // who is late in each run, where that differs
};

/// A split figure counts as changed if it leaves its noise band and moves by at least this share: of hundreds of
/// kernels, some leave a 95 % band by chance.
constexpr double least_split_change = 0.01;

/// Ranks and groups are left out where they do not correspond. Empty metrics = all.
/// Cost: each table of both files once per figure in it.
Comparison compare_runs(const StoredRun& first, const StoredRun& second, const std::vector<std::string>& metrics);

}  // namespace ccl
