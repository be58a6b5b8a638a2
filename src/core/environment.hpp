#pragma once
#include <functional>

namespace ccl {

/// Like std::getenv: null when unset. Given as an argument so that tests can play any launcher.
using Environment = std::function<const char*(const char*)>;

}  // namespace ccl
