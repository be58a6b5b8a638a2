#include "exchange/align.hpp"

#include <algorithm>

#include "exchange/robust.hpp"

namespace ccl {
namespace {

using Pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
using Items = std::span<const AlignItem>;

constexpr std::size_t most_shifts = 256;

/// Longest common sequence that takes every match as early as possible.
Pairs earliest_common(Items a, Items b) {
  const std::size_t columns = b.size() + 1;
  std::vector<std::uint32_t> longest((a.size() + 1) * columns, 0);  // of a[i…], b[j…]
  for (std::size_t i = a.size(); i-- > 0;)
    for (std::size_t j = b.size(); j-- > 0;)
      longest[i * columns + j] = a[i].signature == b[j].signature
                                     ? longest[(i + 1) * columns + j + 1] + 1
                                     : std::max(longest[(i + 1) * columns + j], longest[i * columns + j + 1]);
  Pairs pairs;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i].signature == b[j].signature) {
      pairs.emplace_back(i++, j++);
    } else if (longest[(i + 1) * columns + j] >= longest[i * columns + j + 1]) {
      ++i;
    } else {
      ++j;
    }
  }
  return pairs;
}

Pairs latest_common(Items a, Items b) {
  const std::vector<AlignItem> back_a(a.rbegin(), a.rend()), back_b(b.rbegin(), b.rend());
  Pairs pairs = earliest_common(back_a, back_b);
  std::reverse(pairs.begin(), pairs.end());
  for (auto& [i, j] : pairs) {
    i = static_cast<std::uint32_t>(a.size() - 1 - i);
    j = static_cast<std::uint32_t>(b.size() - 1 - j);
  }
  return pairs;
}

/// All of the shorter one against a stretch of the longer one; empty if a signature differs.
Pairs shifted(Items a, Items b, std::size_t shift) {
  const bool a_longer = a.size() >= b.size();
  Pairs pairs;
  for (std::size_t k = 0; k < std::min(a.size(), b.size()); ++k) {
    const std::size_t i = a_longer ? k + shift : k, j = a_longer ? k : k + shift;
    if (a[i].signature != b[j].signature) return {};
    pairs.emplace_back(i, j);
  }
  return pairs;
}

/// How unequal the end differences are: the mean absolute deviation from their median, ns.
double unevenness_ns(const Pairs& pairs, Items a, Items b) {
  std::vector<std::int64_t> differences;
  for (const auto& [i, j] : pairs)
    if (a[i].symmetric && b[j].symmetric) differences.push_back(a[i].end_ns - b[j].end_ns);
  if (differences.empty()) return 0;
  const std::int64_t middle = middle_value(differences);
  double sum = 0;
  for (const std::int64_t d : differences) sum += static_cast<double>(std::abs(d - middle));
  return sum / static_cast<double>(differences.size());
}

}  // namespace

Pairs align(Items a, Items b, std::size_t most_cells) {
  Pairs best;
  double best_unevenness_ns = 0;
  const auto consider = [&](Pairs candidate) {
    if (candidate.empty() || candidate.size() < best.size()) return;
    const double unevenness = unevenness_ns(candidate, a, b);
    if (candidate.size() == best.size() && unevenness >= best_unevenness_ns) return;
    best = std::move(candidate);
    best_unevenness_ns = unevenness;
  };
  if ((a.size() + 1) * (b.size() + 1) <= most_cells) {
    consider(earliest_common(a, b));
    consider(latest_common(a, b));
  }
  const std::size_t slack = std::max(a.size(), b.size()) - std::min(a.size(), b.size());
  for (std::size_t shift = 0; shift <= std::min(slack, most_shifts); ++shift) consider(shifted(a, b, shift));
  if (slack > most_shifts) consider(shifted(a, b, slack));
  return best;
}

}  // namespace ccl
