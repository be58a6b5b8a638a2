#include "metrics/hockney.hpp"

#include <limits>

namespace ccl {
namespace {

bool fits(const HockneyPoint& point) {
  constexpr std::int64_t most = std::int64_t{1} << 47;
  return point.first < most && point.second < most;
}

}  // namespace

void HockneyMeans::add(const HockneyPoint& point) {
  if (!fits(point)) return;
  ++count;
  bytes += point.first;
  ns += point.second;
}
void HockneyMeans::combine(const HockneyMeans& other) {
  count += other.count;
  bytes += other.bytes;
  ns += other.ns;
}

HockneySums::HockneySums(const HockneyMeans& all) : count_(all.count) {
  if (count_ == 0) return;
  middle_bytes_ = static_cast<std::int64_t>(all.bytes / count_);
  middle_ns_ = static_cast<std::int64_t>(all.ns / count_);
}
void HockneySums::add(const HockneyPoint& point) {
  if (!fits(point)) return;
  const Wide bytes = point.first - middle_bytes_, ns = point.second - middle_ns_;
  bytes_ += bytes;
  ns_ += ns;
  bytes_bytes_ += bytes * bytes;
  bytes_ns_ += bytes * ns;
  ns_ns_ += ns * ns;
}
void HockneySums::combine(const HockneySums& other) {
  bytes_ += other.bytes_;
  ns_ += other.ns_;
  bytes_bytes_ += other.bytes_bytes_;
  bytes_ns_ += other.bytes_ns_;
  ns_ns_ += other.ns_ns_;
}

HockneyFit HockneySums::fit() const {
  constexpr double absent = std::numeric_limits<double>::quiet_NaN();
  HockneyFit out{absent, absent, absent};
  if (count_ < 5) return out;
  // The means are at most 1 above their integers: what that takes from the sums is small.
  const auto n = static_cast<double>(count_), over_bytes = static_cast<double>(bytes_) / n, over_ns = static_cast<double>(ns_) / n;
  const double xx = static_cast<double>(bytes_bytes_) - n * over_bytes * over_bytes;
  const double xy = static_cast<double>(bytes_ns_) - n * over_bytes * over_ns;
  const double yy = static_cast<double>(ns_ns_) - n * over_ns * over_ns;
  if (xx <= 0) return out;
  const double slope = xy / xx;
  out.alpha_ns = static_cast<double>(middle_ns_) + over_ns - slope * (static_cast<double>(middle_bytes_) + over_bytes);
  if (slope > 0) out.beta_bytes_per_s = 1e9 / slope;
  if (yy > 0) out.r_squared = xy * xy / (xx * yy);
  return out;
}

HockneyFit fit_hockney(const std::vector<HockneyPoint>& points) {
  HockneyMeans means;
  for (const HockneyPoint& point : points) means.add(point);
  HockneySums sums(means);
  for (const HockneyPoint& point : points) sums.add(point);
  return sums.fit();
}

}  // namespace ccl
