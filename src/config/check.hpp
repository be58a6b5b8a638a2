// What can be found wrong with a request before any trace is read, and the requests that --each-run turns into.
#pragma once
#include <string>
#include <vector>

#include "config/config.hpp"

namespace ccl {

/// "-" is no file: who writes it means stdout, where the page goes. `what`: the option, as messages name it.
void refuse_stdout(const std::string& what, const std::string& file);

/// Throws bad_request when a file that is asked for could not be put where it is wanted: better now than after an hour.
void check_output_place(const Config& config);

/// Throws bad_request when --end lies before --start. Edges of two kinds are compared when the steps are known.
void check_window(const Config& config);

/// One config per run, each with its own output: <stem>.<run>.h5 and <run>.<timeline>.
std::vector<Config> one_config_per_run(const Config& config, const std::vector<std::string>& runs);

}  // namespace ccl
