// Why a file that was named cannot be read: one wording for traces, job files, cards, settings and results.
#pragma once
#include <string>

namespace ccl {

/// "no such file", "permission denied", "a folder", "not a regular file: pipes and stdin are not read"; empty if none.
std::string file_trouble(const std::string& path);

}  // namespace ccl
