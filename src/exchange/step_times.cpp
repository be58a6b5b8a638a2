// Which steps of two ranks are the same, told by when they take place. On one host by the same clock; across hosts, whose
// clocks are not compared yet, by how even the differences of the steps' ends are: ranks of one job end a step together.
#include <algorithm>
#include <cstdlib>
#include <map>

#include "core/intervals.hpp"
#include "exchange/rank_rules.hpp"
#include "exchange/robust.hpp"

namespace ccl {
namespace {

constexpr std::int64_t most_uneven_ns = 1'000'000;  // as a collective whose ends are not suspect
constexpr std::int64_t clearly_more = 4;
constexpr std::size_t least_common = 4;

using Windows = std::map<std::int64_t, Interval>;  // by step number

Windows windows_of(const RankEntry& entry) {
  Windows windows;
  for (const Step& step : entry.facts.steps) {
    Interval window{INT64_MAX, INT64_MIN};
    for (const DeviceWindow& device : step.devices) {
      if (device.gpu_start_ns == absent_ns) continue;
      window.start_ns = std::min(window.start_ns, device.gpu_start_ns);
      window.end_ns = std::max(window.end_ns, device.gpu_end_ns);
    }
    if (window.start_ns < window.end_ns) windows[step.number] = window;
  }
  return windows;
}

/// f(window of a, window of b) for every step that both have once a's numbers are shifted.
template <class F>
void for_each_common(const Windows& a, const Windows& b, std::int64_t shift, F f) {
  for (const auto& [number, window] : a)
    if (const auto at = b.find(number + shift); at != b.end()) f(window, at->second);
}

/// Ranks with one clock: steps that overlap by half are the same. Nothing if none do, or if some do unshifted.
std::optional<std::int64_t> shift_by_overlap(const Windows& a, const Windows& b) {
  std::int64_t best = 0, most = 0;
  for (std::int64_t distance = 0; distance <= largest_step_shift; ++distance)
    for (const std::int64_t shift : {-distance, distance}) {
      std::int64_t count = 0;
      for_each_common(a, b, shift, [&](const Interval& x, const Interval& y) {
        const std::int64_t shared_ns = std::min(x.end_ns, y.end_ns) - std::max(x.start_ns, y.start_ns);
        count += 2 * shared_ns >= std::min(x.length_ns(), y.length_ns()) ? 1 : 0;
      });
      if (count > most) best = shift, most = count;
      if (distance == 0 && count > 0) return 0;
    }
  return most > 0 ? std::optional(best) : std::nullopt;
}

/// Ranks with clocks of their own: the shift whose end differences are most even, by far.
std::optional<std::int64_t> shift_by_ends(const Windows& a, const Windows& b) {
  struct Fit {
    std::int64_t uneven_ns, distance, shift;
    auto key() const { return std::tuple(uneven_ns, distance, shift); }
  };
  std::vector<Fit> fits;
  for (std::int64_t shift = -largest_step_shift; shift <= largest_step_shift; ++shift) {
    std::vector<std::int64_t> differences;
    for_each_common(a, b, shift, [&](const Interval& x, const Interval& y) { differences.push_back(x.end_ns - y.end_ns); });
    if (differences.size() < least_common) continue;
    const std::int64_t middle = middle_value(differences);
    for (std::int64_t& d : differences) d = std::abs(d - middle);
    fits.push_back({middle_value(std::move(differences)), std::abs(shift), shift});
  }
  if (fits.size() < 2) return {};
  std::sort(fits.begin(), fits.end(), [](const Fit& x, const Fit& y) { return x.key() < y.key(); });
  const bool clear = fits[0].uneven_ns <= most_uneven_ns && fits[1].uneven_ns > clearly_more * (fits[0].uneven_ns + 1);
  return clear ? std::optional(fits[0].shift) : std::nullopt;
}

using Shift = std::optional<std::int64_t>;

/// Shifts relative to one of the ranks -> relative to what most of them say. Tie: the value of one of the `trusted`, then
/// of the first.
void relate_to_most(std::vector<Shift>& shifts, const std::vector<bool>& trusted) {
  std::map<std::int64_t, std::int64_t> votes;
  for (std::size_t i = 0; i < shifts.size(); ++i)
    if (shifts[i]) votes[*shifts[i]] += 1000 + (trusted[i] ? 1 : 0);
  std::int64_t most = 0, said = 0;
  for (const Shift& shift : shifts)
    if (shift && votes[*shift] > most) most = votes[*shift], said = *shift;
  for (Shift& shift : shifts)
    if (shift) *shift -= said;
}

}  // namespace

std::vector<std::optional<std::int64_t>> shifts_by_time(const std::vector<RankEntry*>& entries,
                                                        const std::vector<bool>& trusted) {
  std::vector<Windows> windows;
  std::map<std::int32_t, std::vector<std::size_t>> hosts;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    windows.push_back(windows_of(*entries[i]));
    hosts[entries[i]->host_index < 0 ? -1 - static_cast<std::int32_t>(i) : entries[i]->host_index].push_back(i);
  }
  std::vector<Shift> shifts(entries.size());
  std::vector<std::size_t> anchors;  // a rank of each host whose numbers most of the host agrees with
  for (const auto& [host, members] : hosts) {
    std::vector<Shift> within;
    std::vector<bool> trusted_within;
    for (const std::size_t i : members) {
      within.push_back(i == members[0] ? Shift(0) : shift_by_overlap(windows[i], windows[members[0]]));
      trusted_within.push_back(trusted[i]);
    }
    relate_to_most(within, trusted_within);
    std::size_t anchor = 0;
    for (std::size_t m = members.size(); m-- > 0;) {
      if (members.size() > 1) shifts[members[m]] = within[m];
      if (within[m] == Shift(0)) anchor = m;
    }
    anchors.push_back(members[anchor]);
  }
  std::vector<Shift> between;
  std::vector<bool> trusted_between;
  for (const std::size_t anchor : anchors) {
    between.push_back(anchor == anchors[0] ? Shift(0) : shift_by_ends(windows[anchor], windows[anchors[0]]));
    trusted_between.push_back(trusted[anchor]);
  }
  if (std::count(between.begin(), between.end(), Shift()) == static_cast<std::ptrdiff_t>(between.size()) - 1) return shifts;
  relate_to_most(between, trusted_between);
  std::size_t h = 0;
  for (const auto& [host, members] : hosts) {
    const Shift of_host = between[h++];
    for (const std::size_t i : members) {
      if (!of_host) continue;
      if (shifts[i])
        *shifts[i] += *of_host;
      else if (members.size() == 1)
        shifts[i] = of_host;
    }
  }
  return shifts;
}

}  // namespace ccl
