// Slow links: groups, and pairs of ranks, whose transfers take longer than those of their like in the same steps.
#include <algorithm>
#include <cmath>

#include "core/statistics.hpp"
#include "metrics/straggler_causes.hpp"

namespace ccl::straggler {
namespace {

constexpr double slow_link_ratio = 1.25;

using Link = std::tuple<std::int32_t, GroupId, std::int32_t, std::int32_t>;  // replica, group, ranks of messages
Link link_of(const Transfer& row) { return {row.replica, row.group, row.rank_a, row.rank_b}; }

/// Transfers of one link in one step, or in several, and what they would be at the speed of its like.
struct StepTransfer {
  double actual_ns = 0, usual_ns = 0;
  std::int64_t count = 0, steps_count = 0;
  double more_ns() const { return actual_ns - usual_ns; }
};

double mean_ns(const Transfer& row) {
  return ratio(static_cast<double>(row.transfer_ns), static_cast<double>(row.count));
}

std::map<Link, std::map<StepId, StepTransfer>> by_link(std::span<const Transfer> transfers) {
  using Shape = std::tuple<StepId, bool, Dimension, CollectiveOp, LinkClass, std::int32_t, std::int64_t>;
  std::map<Shape, std::map<Link, Transfer>> like;
  for (const Transfer& row : transfers) {
    const Shape shape{row.step, row.rank_a >= 0, row.dimension, row.op, row.link_class, row.group_size, row.payload_bytes};
    const auto [at, added] = like[shape].try_emplace(link_of(row), row);
    if (!added) at->second.combine(row);
  }
  std::map<Link, std::map<StepId, StepTransfer>> out;
  for (const auto& [shape, links] : like) {
    if (links.size() < 2) continue;
    std::vector<double> means_ns;  // sorted once: a search among the others for each link would cost links²
    for (const auto& [link, row] : links) means_ns.push_back(mean_ns(row));
    std::sort(means_ns.begin(), means_ns.end());
    for (const auto& [link, row] : links) {
      StepTransfer& step = out[link][std::get<0>(shape)];
      step.actual_ns += static_cast<double>(row.transfer_ns);
      step.usual_ns += median_of_others(means_ns, mean_ns(row)) * static_cast<double>(row.count);
      step.count += row.count;
    }
  }
  return out;
}

}  // namespace

std::vector<SlowGroup> find_slow_groups(std::span<const Transfer> transfers, std::int64_t message_error_ns) {
  std::vector<SlowGroup> slow;
  for (const auto& [link, steps] : by_link(transfers)) {
    std::vector<std::pair<StepId, std::int64_t>> more;
    double usual_ns = 0;
    for (const auto& [step, sum] : steps) {
      more.emplace_back(step, static_cast<std::int64_t>(std::floor(sum.more_ns())));
      usual_ns += sum.usual_ns;
    }
    SlowGroup found;
    std::tie(found.replica, found.group, found.rank_a, found.rank_b) = link;
    const double relevant_ns = (slow_link_ratio - 1) * usual_ns / static_cast<double>(steps.size());
    found.onset = onset_of(more, relevant_ns);
    found.persistence = persistence_of(more, relevant_ns);
    const auto summed = [&](auto counts) {
      StepTransfer sum;
      for (const auto& [step, its] : steps)
        if (counts(step, its)) {
          sum.actual_ns += its.actual_ns, sum.usual_ns += its.usual_ns, sum.count += its.count;
          ++sum.steps_count;
        }
      return sum;
    };
    const StepTransfer judged = summed([&](StepId step, const StepTransfer&) { return !found.onset || !(step < *found.onset); });
    // When a message starts to move may be read off two clocks.
    const std::int64_t error_ns = found.rank_a >= 0 ? std::max<std::int64_t>(message_error_ns, 0) * judged.count : 0;
    if (judged.more_ns() <= static_cast<double>(error_ns) || judged.actual_ns < slow_link_ratio * judged.usual_ns) continue;
    // Told is what it takes more in the steps that the text names.
    const StepTransfer told = found.onset ? judged : summed([&](StepId, const StepTransfer& its) {
      return found.persistence.affected_count == 0 || std::floor(its.more_ns()) >= relevant_ns;
    });
    found.times = ratio(told.actual_ns, told.usual_ns);
    found.more_ns = told.more_ns();
    found.steps_count = told.steps_count;
    slow.push_back(found);
  }
  return slow;
}

}  // namespace ccl::straggler
