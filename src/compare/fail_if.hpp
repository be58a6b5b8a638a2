// Bounds of a regression gate: "iter_time>+3%", "comm_comp_overlap.exposed_ns>+5%", "mfu<0.4", "iter_time>250ms".
#pragma once
#include <string>
#include <vector>

#include "compare/change.hpp"
#include "compare/comparable.hpp"

namespace ccl {

struct Bound {
  std::string text;            // as written
  std::string metric, column;  // column "" = the first figure of the metric
  bool above = true;           // '>' or '<'
  bool relative = true;        // of the change; else of the second run's value
  bool points = false;         // of the change of a share: second - first, not second / first - 1
  double limit = 0;            // 0.03, or in the figure's unit
  std::string unit;            // as written; "" = the figure's own
  bool new_straggler = false;  // no metric's: a rank is late in the second run that was not in the first
};

/// "METRIC[.COLUMN] (>|<) (+|-)N%" bounds the change, in % of the first value; "(+|-)Npt" that of a share, in points; with
/// "Nns|us|ms|s", "NB|kB|MB|GB", the same per second, "N%" or "0.N" (a share), "N" or "Nx" (a factor), "N" (what has no
/// unit) the value of the second run. "new_straggler" is a bound of its own. Throws bad_request.
Bound parse_bound(const std::string& text);

/// What a bound calls a figure of the whole run: "iter_time" the first of its metric, "iter_time.period_ns" the others.
std::string bound_name(const Figure& figure);

/// The change that is bound is smaller than what the noise hides.
bool below_noise(const Bound& bound, const Change& change);

enum class BoundOutcome { kept, broken, within_noise, not_judged };
struct JudgedBound {
  Bound bound;
  Figure figure;
  Change change;
  BoundOutcome outcome = BoundOutcome::kept;
  std::string why = {};  // why it is not judged; who is late anew
};

/// A change that breaks its bound but not its noise band is within_noise; with one repetition the bound alone decides. A
/// bound that asks for a gain ("iter_time>-10%") is broken where the change misses it by more than the band.
BoundOutcome outcome_of(const Bound& bound, const Change& change);

/// What the page calls not compared is not judged: a bound on it must not pass because the rank that breaks it is lost.
/// A metric or column that is not there is answered with those that are.
/// Throws bad_request for a metric or column that one of the files lacks (a gate must not pass for want of data), for a
/// column that is a key, for a unit that is not the figure's or lacks and for a share of 1 and more that is not in %.
JudgedBound judge(const Bound& bound, const StoredRun& first, const StoredRun& second, const Comparability& found);

}  // namespace ccl
