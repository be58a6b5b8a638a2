// How far two words are apart, for suggestions.
#pragma once
#include <cstddef>
#include <string_view>

namespace ccl {

/// How many letters must be added, removed or replaced to make one of the other.
std::size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace ccl
