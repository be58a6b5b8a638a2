// What an output may take the place of: nothing, an empty file, or an older output of its kind. Worker 0, before
// anything is read.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "config/config.hpp"

namespace ccl {

/// Throws FatalError(bad_request) when an output is one of the inputs or another output, by whatever name, or when it
/// would replace a file that is not an older output of its kind.
void check_replaced_files(const Config& config);

/// The same for ccl-compare, which reads `results` and writes `output`.
void check_replaced_comparison(const std::string& output, const std::vector<std::string>& results);

}  // namespace ccl
