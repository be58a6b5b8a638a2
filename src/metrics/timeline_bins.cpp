#include "metrics/timeline_bins.hpp"

#include <algorithm>
#include <array>

#include "core/interval_passes.hpp"
#include "core/shares.hpp"

namespace ccl {

std::vector<std::int64_t> TimeBins::edges() const {
  std::vector<std::int64_t> out;
  for (std::int64_t bin = 0; bin <= count; ++bin) out.push_back(edge_ns(bin));
  return out;
}

TimeBins equal_bins(Interval span, std::int64_t wanted) {
  const std::int64_t length_ns = std::max<std::int64_t>(span.length_ns(), 1);
  const auto width_for = [&](std::int64_t count) { return (length_ns + count - 1) / count; };
  std::int64_t count = std::max<std::int64_t>(wanted, 1);
  if (width_for(count) > INT32_MAX) count = (length_ns + INT32_MAX - 1) / INT32_MAX;
  return {span.start_ns, width_for(count), count};
}

namespace {

/// Nanoseconds per bin of intervals that come in order of start.
class BinSums {
 public:
  explicit BinSums(const TimeBins& bins) : bins_(bins), sums_ns_(static_cast<std::size_t>(bins.count), 0) {}
  /// Of no or negative length: nothing.
  void add(Interval interval) {
    if (interval.start_ns >= bin_.start_ns && interval.end_ns <= bin_.end_ns)
      sums_ns_[at_] += std::max<std::int64_t>(interval.length_ns(), 0);
    else if (interval.length_ns() > 0)
      add_over_edges(interval);
  }
  std::vector<std::int64_t> take() { return std::move(sums_ns_); }

 private:
  void add_over_edges(Interval interval) {
    std::int64_t bin = std::max<std::int64_t>((interval.start_ns - bins_.first_ns) / bins_.width_ns, 0);
    for (; bin < bins_.count && bins_.edge_ns(bin) < interval.end_ns; ++bin) {
      at_ = static_cast<std::size_t>(bin);
      bin_ = {bins_.edge_ns(bin), bins_.edge_ns(bin + 1)};
      sums_ns_[at_] += std::max<std::int64_t>(
          0, std::min(interval.end_ns, bin_.end_ns) - std::max(interval.start_ns, bin_.start_ns));
    }
  }

  const TimeBins& bins_;
  std::size_t at_ = 0;
  Interval bin_{INT64_MAX, INT64_MIN};  // where the last one ended
  std::vector<std::int64_t> sums_ns_;
};

std::vector<std::int64_t> common_per_bin(std::span<const Interval> a, std::span<const Interval> b, const TimeBins& bins) {
  BinSums sums(bins);
  for_each_pair(a, b, [&](Interval common) { sums.add(common); });
  return sums.take();
}

}  // namespace

std::vector<std::int64_t> length_per_bin(std::span<const Interval> merged, const TimeBins& bins) {
  BinSums sums(bins);
  for (const Interval& interval : merged) sums.add(interval);
  return sums.take();
}

namespace {

/// Those that reach into the bins.
std::span<const Interval> within(std::span<const Interval> merged, const TimeBins& bins) {
  const std::span<const Interval> from = from_time(merged, bins.first_ns);
  const auto behind = std::partition_point(from.begin(), from.end(), [end_ns = bins.edge_ns(bins.count)](const Interval& interval) {
    return interval.start_ns < end_ns;
  });
  return {from.begin(), behind};
}

constexpr std::array rows{&BinnedBudget::compute_ns, &BinnedBudget::communication_ns, &BinnedBudget::overlap_ns,
                          &BinnedBudget::memory_only_ns, &BinnedBudget::idle_ns};

/// Of lists within the bins; −1 in all of those outside the capture.
BinnedBudget budget_of(std::span<const Interval> communication, std::span<const Interval> compute,
                       std::span<const Interval> memory, Interval capture, const TimeBins& bins) {
  const auto c = length_per_bin(communication, bins);
  const auto k = length_per_bin(compute, bins);
  const auto both = common_per_bin(communication, compute, bins);
  const auto memory_only = length_per_bin(subtract(subtract(memory, communication), compute), bins);
  const auto inside = length_per_bin(std::span(&capture, 1), bins);
  BinnedBudget out;
  for (const auto row : rows) (out.*row).reserve(inside.size());
  for (std::size_t bin = 0; bin < inside.size(); ++bin) {
    const auto cell = [&](std::int64_t ns) { return inside[bin] == 0 ? -1 : static_cast<std::int32_t>(ns); };
    out.compute_ns.push_back(cell(k[bin]));
    out.communication_ns.push_back(cell(c[bin]));
    out.overlap_ns.push_back(cell(both[bin]));
    out.memory_only_ns.push_back(cell(memory_only[bin]));
    out.idle_ns.push_back(cell(inside[bin] - (c[bin] + k[bin] - both[bin] + memory_only[bin])));
  }
  return out;
}

void append(const std::vector<std::int32_t>& from, std::vector<std::int32_t>& to) { to.insert(to.end(), from.begin(), from.end()); }

}  // namespace

BinnedBudget bin_budget(std::span<const Interval> communication, std::span<const Interval> compute,
                        std::span<const Interval> memory, Interval capture, const TimeBins& bins,
                        std::span<const Processors> lent) {
  std::vector<BinnedBudget> parts = results_of_shares(static_cast<std::size_t>(bins.count), lent, [&](const Share& share) {
    const auto first = static_cast<std::int64_t>(share.begin), end = static_cast<std::int64_t>(share.end);
    const TimeBins own{bins.edge_ns(first), bins.width_ns, end - first};
    return budget_of(within(communication, own), within(compute, own), within(memory, own), capture, own);
  });
  BinnedBudget all = std::move(parts.front());
  for (std::size_t i = 1; i < parts.size(); ++i)
    for (const auto row : rows)
      append(parts[i].*row, all.*row);
  return all;
}

}  // namespace ccl
