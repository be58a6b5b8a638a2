// Which run and which iterations of the files found are analysed.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "discover/discover.hpp"

namespace ccl {

/// A trace file with the run its path names ("" = no iteration folder above it).
struct Candidate {
  TraceFile file;
  std::string run;
  std::int32_t rank = -1;  // that it will most likely have: by its first bytes, else its name
};

/// Several folders given by name, none with an iteration number, in which the same ranks occur by name: they are
/// iterations of one run and get the numbers 0, 1, … in natural order. Otherwise nothing happens: they hold parts of
/// one set, for example the ranks of one node each.
void number_folders_as_iterations(std::vector<Candidate>& files, const std::vector<std::string>& folders);

/// Folders side by side in which the same ranks occur (same rank, iteration and kind of trace) are runs of their own, as
/// are their neighbours. Ranks are those that the first bytes or the names tell; files of iteration folders have a run.
void separate_runs(std::vector<Candidate>& files);

/// Keeps the files of one run and of the iterations asked for; fills input.runs and input.run ("." = the trace folder
/// itself). Files outside every iteration folder belong to the run folder above them, else to ".". Throws
/// FatalError(bad_request): more than one run and none picked, an unknown run or iteration.
void select_run(std::vector<Candidate>& files, const InputConfig& config, Input& input);

}  // namespace ccl
