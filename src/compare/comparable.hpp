// Whether two result files may be compared at all, before any number is looked at.
#pragma once
#include <string>
#include <vector>

#include "compare/figures.hpp"
#include "compare/rank_steps.hpp"
#include "compare/stored_run.hpp"

namespace ccl {

struct Lacking {
  std::string run, what;              // "second", "damaged rank 3"
  std::string text() const { return run + ": " + what; }
};

struct Comparability {
  std::vector<std::string> refusals;  // a comparison would mislead: another model, batch, window
  std::vector<std::string> notes;     // differences that are fine but must be known: GPU, mesh, missing ranks
  std::vector<Lacking> lacking;       // every verdict rests on less than the runs
  bool same_ranks = true;             // rank r of one is rank r of the other: same mesh and number of ranks
  RowFilters rows;                    // what both runs have
  std::string unlike_matching;        // how far, where much more was matched in one run than in the other; else empty

  /// Whether the figure rests on matched collectives, of which one run lacks many.
  bool is_unlike(const Figure& figure) const { return figure.basis == Basis::matching && !unlike_matching.empty(); }
};

/// "missing rank 3, damaged ranks 4, 5": of one file; empty if it lacks nothing.
std::string lacking_ranks(const StoredRun& run);

/// Values that only one file knows do not refuse, they are a note.
Comparability comparability(const StoredRun& first, const StoredRun& second);

}  // namespace ccl
