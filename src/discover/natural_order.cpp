#include "discover/natural_order.hpp"

#include <cstddef>

namespace ccl {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view take_number(std::string_view text, std::size_t& at) {
  while (at < text.size() && text[at] == '0') ++at;
  const std::size_t first = at;
  while (at < text.size() && is_digit(text[at])) ++at;
  return text.substr(first, at - first);
}

int weight(char c) { return c == '/' ? -1 : static_cast<unsigned char>(c); }

}  // namespace

bool natural_less(std::string_view a, std::string_view b) {
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    if (is_digit(a[i]) && is_digit(b[j])) {
      const std::string_view left = take_number(a, i);
      const std::string_view right = take_number(b, j);
      if (left.size() != right.size()) return left.size() < right.size();
      if (left != right) return left < right;
    } else {
      if (a[i] != b[j]) return weight(a[i]) < weight(b[j]);
      ++i;
      ++j;
    }
  }
  const bool a_left = i < a.size();
  const bool b_left = j < b.size();
  if (a_left != b_left) return b_left;
  return a < b;  // differ in leading zeros only
}

}  // namespace ccl
