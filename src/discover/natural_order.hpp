// Order of paths as people number them: iteration_2 before iteration_10. Total, so that equal means identical.
#pragma once
#include <string_view>

namespace ccl {

/// True if a comes before b: digit runs compare as numbers, '/' before every other character, the rest by bytes.
bool natural_less(std::string_view a, std::string_view b);

}  // namespace ccl
