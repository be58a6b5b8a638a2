// Command line in, request out (job file and all). Nothing here prints, exits or needs MPI.
#pragma once
#include <string>
#include <vector>

#include "config/options.hpp"

namespace ccl {

/// args without the program's name. Throws bad_request for anything that is not in the option table, with a
/// suggestion. Precedence: command line > job file > defaults.
Request read_request(const std::vector<std::string>& args);

std::string help_text();
std::string metric_list_text();

}  // namespace ccl
