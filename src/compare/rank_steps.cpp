#include "compare/rank_steps.hpp"

#include <algorithm>
#include <iterator>

namespace ccl {
namespace {

std::set<RankKey> ranks_of(const RanksByStep& steps) {
  std::set<RankKey> all;
  for (const auto& [step, ranks] : steps) all.insert(ranks.begin(), ranks.end());
  return all;
}

void add_lacking(const RanksByStep& steps, const std::set<RankKey>& all, std::set<RankKey>& lacking) {
  for (const auto& [step, ranks] : steps)
    std::set_difference(all.begin(), all.end(), ranks.begin(), ranks.end(), std::inserter(lacking, lacking.end()));
}

}  // namespace

RowFilter::RowFilter(const RanksByStep& own, const RanksByStep& other) : own_(own), other_(other) {
  all_ = ranks_of(own_);
  const std::set<RankKey> others = ranks_of(other_);
  std::set_intersection(all_.begin(), all_.end(), others.begin(), others.end(), std::inserter(common_, common_.end()));
  all_.insert(others.begin(), others.end());
  add_lacking(own_, all_, lacking_);
  add_lacking(other_, all_, lacking_);
  filters_ = !lacking_.empty();
}

bool RowFilter::keeps(const StepKey& step, const RankKey& rank) const {
  if (!filters_) return true;
  const std::set<RankKey>& here = having(own_, step);
  if (other_.count(step) != 0) return here.count(rank) != 0 && having(other_, step).count(rank) != 0;
  return common_.count(rank) != 0 && std::includes(here.begin(), here.end(), common_.begin(), common_.end());
}

bool RowFilter::keeps_step(const StepKey& step) const {
  if (!filters_) return true;
  return having(own_, step) == (other_.count(step) != 0 ? having(other_, step) : all_);
}

const std::set<RankKey>& RowFilter::having(const RanksByStep& steps, const StepKey& step) const {
  const auto at = steps.find(step);
  return at == steps.end() ? none_ : at->second;
}

}  // namespace ccl
