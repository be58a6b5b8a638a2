// "k" and 7 -> "k7".
#pragma once
#include <concepts>
#include <string>

namespace ccl::test {

inline std::string numbered(std::string text, std::integral auto number) { return text += std::to_string(number); }

}  // namespace ccl::test
