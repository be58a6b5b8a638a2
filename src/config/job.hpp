// Job files: one analysis as YAML, with the keys of the option table. Relative paths are relative to the job file.
#pragma once
#include <string>

#include "config/options.hpp"

namespace ccl {

/// Sets in request what the job file says. Throws bad_request naming file, line and key; unknown keys get a suggestion.
void read_job(const std::string& path, Request& request);

/// The request as a job file that asks for the same from any folder: paths are absolute.
std::string job_text(const Config& config);

}  // namespace ccl
