#include "compare/rank_steps.hpp"

#include <algorithm>
#include <iterator>

namespace ccl {
namespace {

using Ranks = std::set<RankKey>;

Ranks ranks_of(const RanksByStep& steps) {
  Ranks all;
  for (const auto& [step, ranks] : steps) all.insert(ranks.begin(), ranks.end());
  return all;
}

Ranks both(const Ranks& a, const Ranks& b) {
  Ranks out;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::inserter(out, out.end()));
  return out;
}

void add_lacking(const RanksByStep& steps, const Ranks& all, Ranks& lacking) {
  for (const auto& [step, ranks] : steps)
    std::set_difference(all.begin(), all.end(), ranks.begin(), ranks.end(), std::inserter(lacking, lacking.end()));
}

}  // namespace

RowFilter::RowFilter(const RanksByStep& own, const RanksByStep& other) {
  const Ranks mine = ranks_of(own), others = ranks_of(other), common = both(mine, others);
  Ranks all = mine;
  all.insert(others.begin(), others.end());
  add_lacking(own, all, lacking_);
  add_lacking(other, all, lacking_);
  filters_ = !lacking_.empty();
  if (!filters_) return;
  for (const auto& [step, ranks] : own) {
    const auto at = other.find(step);
    if (ranks == (at != other.end() ? at->second : all)) same_.insert(step);
    if (at != other.end())
      kept_[step] = both(ranks, at->second);
    else if (std::includes(ranks.begin(), ranks.end(), common.begin(), common.end()))
      kept_[step] = common;  // a step of its own: without one of them its mean over ranks is another one
  }
}

}  // namespace ccl
