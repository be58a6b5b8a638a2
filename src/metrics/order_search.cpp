#include "metrics/order_search.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

namespace ccl {
namespace {

constexpr int digit_bits = 4;
constexpr std::size_t digits_count = std::size_t{1} << digit_bits;
constexpr std::uint64_t sign_bit = std::uint64_t{1} << 63;

/// Bits in the order of the numbers.
std::uint64_t ordered(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  return (bits & sign_bit) != 0 ? ~bits : bits | sign_bit;
}
double from_ordered(std::uint64_t bits) {
  return std::bit_cast<double>((bits & sign_bit) != 0 ? bits & ~sign_bit : ~bits);
}

/// Looks for one value by its number among all that begin with the digits found so far.
struct Search {
  std::int64_t number = 0;   // among those
  std::uint64_t digits = 0;  // found so far, in their places
  std::vector<std::span<const double>> rest;  // this worker's values that begin with them

  /// How many of them go on with each digit.
  void count(int shift, std::int64_t* counts) const {
    for (const std::span<const double>& values : rest) {
      auto from = values.begin();
      for (std::size_t digit = 0; digit < digits_count && from != values.end(); ++digit) {
        const auto to = end_of(digit, shift, from, values.end());
        counts[digit] += to - from;
        from = to;
      }
    }
  }
  /// counts: on all workers.
  void go_on(int shift, const std::int64_t* counts) {
    std::size_t digit = 0;
    while (number >= counts[digit]) number -= counts[digit++];
    for (std::span<const double>& values : rest) {
      const auto from = digit == 0 ? values.begin() : end_of(digit - 1, shift, values.begin(), values.end());
      values = {from, end_of(digit, shift, from, values.end())};
    }
    digits |= static_cast<std::uint64_t>(digit) << shift;
  }

 private:
  using At = std::span<const double>::iterator;
  At end_of(std::size_t digit, int shift, At from, At to) const {
    const std::uint64_t last = digits | (static_cast<std::uint64_t>(digit) << shift) | ((std::uint64_t{1} << shift) - 1);
    return std::partition_point(from, to, [&](double value) { return ordered(value) <= last; });
  }
};

}  // namespace

std::vector<double> percentiles(std::span<const std::vector<double>> lists, const std::vector<Asked>& asked,
                                const Comm& comm) {
  std::vector<std::int64_t> sizes;
  for (const std::vector<double>& list : lists) sizes.push_back(static_cast<std::int64_t>(list.size()));
  sizes = comm.sum(std::move(sizes));
  std::vector<std::size_t> known;  // questions that have values
  std::vector<double> part;       // of the way from the value below the percentile to the one above
  std::vector<Search> searches;   // for these two
  for (std::size_t i = 0; i < asked.size(); ++i) {
    std::int64_t total = 0;
    Search search;
    for (const std::size_t list : asked[i].lists) {
      total += sizes[list];
      search.rest.emplace_back(lists[list]);
    }
    if (total == 0) continue;
    const double at = asked[i].percent / 100.0 * static_cast<double>(total - 1);
    search.number = static_cast<std::int64_t>(at);
    known.push_back(i);
    part.push_back(at - static_cast<double>(search.number));
    searches.push_back(search);
    search.number = std::min(search.number + 1, total - 1);
    searches.push_back(std::move(search));
  }
  for (int shift = 64 - digit_bits; shift >= 0; shift -= digit_bits) {
    std::vector<std::int64_t> counts(searches.size() * digits_count);
    for (std::size_t i = 0; i < searches.size(); ++i) searches[i].count(shift, counts.data() + i * digits_count);
    counts = comm.sum(std::move(counts));
    for (std::size_t i = 0; i < searches.size(); ++i) searches[i].go_on(shift, counts.data() + i * digits_count);
  }
  std::vector<double> out(asked.size(), std::numeric_limits<double>::quiet_NaN());
  for (std::size_t k = 0; k < known.size(); ++k) {
    const double below = from_ordered(searches[2 * k].digits), above = from_ordered(searches[2 * k + 1].digits);
    out[known[k]] = below + part[k] * (above - below);
  }
  return out;
}

}  // namespace ccl
