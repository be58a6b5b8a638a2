#include "core/number_list.hpp"

#include <algorithm>

namespace ccl {

std::string number_list(std::vector<std::int64_t> numbers, std::size_t most, std::size_t fold) {
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  std::string out;
  std::size_t ranges = 0;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    if (ranges == most) return out + " and " + std::to_string(numbers.size() - i) + " more";
    if (ranges++ > 0) out += ", ";
    out += std::to_string(numbers[i]);
    if (last > i) out += (last - i + 1 < fold ? ", " : "-") + std::to_string(numbers[last]);
    i = last + 1;
  }
  return out;
}

std::string rank_list(const std::vector<std::int32_t>& ranks, std::size_t most) {
  return number_list({ranks.begin(), ranks.end()}, most, 3);
}

std::string ranks_text(const std::vector<std::int32_t>& ranks) {
  return (ranks.size() == 1 ? "rank " : "ranks ") + rank_list(ranks);
}

}  // namespace ccl
