// What ccl-compare looks at: named figures of the metrics, each with its column, how the rows of one step become one
// value, and which way is better. Adding a figure is one line in figures.cpp.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "compare/rank_steps.hpp"
#include "compare/stored_run.hpp"

namespace ccl {

enum class Fold { mean, largest, total };  // of the rows of one step; a ratio is always total over total
enum class Unit { ns, bytes, count, ratio, per_second, bytes_per_second, factor };  // ratio: a share; factor: 1 is ideal
enum class Better { lower, higher, neither };

/// What a value rests on: a rank's own events; what ranks are to each other, which is another thing where one of them is
/// lost; their matched collectives; the CPU's step markers, which stay where GPU events are lost.
enum class Basis { rank, across_ranks, matching, markers };

struct Figure {
  std::string metric, table;           // "iter_time", "rows"
  std::string label;                   // "step time of the slowest rank"
  std::string numerator, denominator;  // columns; denominator "" = the numerator as it is
  Fold fold = Fold::mean;
  Unit unit = Unit::ns;
  Better better = Better::neither;
  std::vector<std::string> key;  // columns that split the figure; empty = one value for the run
  std::string section;           // of split figures: "ranks", "kernels", ...
  bool per_step = false;         // of whole-file rows: divided by the number of steps of the run
  Basis basis = Basis::rank;
};

/// Figures of the whole run, the most important first; the first of a metric is what `--fail-if metric` means.
const std::vector<Figure>& key_figures();
/// Figures by rank, operation, dimension, group, phase and kernel.
const std::vector<Figure>& split_figures();

/// Of a figure per second: "tokens/s" of the column tokens_per_s.
std::string rate_unit(const Figure& figure);

/// One value per repetition of each key: per step where the table has steps (those outside every step are left out),
/// else per rank. Key "" for figures of the whole run. Empty if the run did not find the metric, if the file lacks the
/// table or a column, or if the filter keeps no row. Cost: one pass over the table.
std::map<std::string, std::vector<double>> samples(const StoredRun& run, const Figure& figure, const RowFilter& filter);

}  // namespace ccl
