// What can be found wrong with a request before any trace is read, and the requests that --each-run turns into.
#pragma once
#include <string>
#include <vector>

#include "config.hpp"

namespace ccl {

/// Throws bad_request when the HDF5 file could not be put where it is wanted: better now than after an hour.
void check_output_place(const OutputConfig& output);

/// One config per run, each with its own output: <stem>.<run>.h5 and <run>.<timeline>.
std::vector<Config> one_config_per_run(const Config& config, const std::vector<std::string>& runs);

}  // namespace ccl
