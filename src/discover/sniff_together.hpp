// Looking into all files, shared out: on a file system where opening a file takes a millisecond, thousands of files are
// seconds for one worker.
#pragma once
#include <string>
#include <vector>

#include "comm/comm.hpp"
#include "discover/sniff.hpp"

namespace ccl {

/// paths: of worker 0, those of the others are not looked at. On worker 0 what each of them is, in their order; nothing
/// elsewhere. Collective. Cost: each worker opens its share of the files.
std::vector<Sniffed> sniff_together(const Comm& comm, const std::vector<std::string>& paths);

}  // namespace ccl
