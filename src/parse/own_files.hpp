// Which files, and which parts of them, one worker reads. In: the list that discovery shared out. Pure.
#pragma once
#include <cstdint>
#include <vector>

#include "discover/discover.hpp"
#include "parse/trace_reader.hpp"

namespace ccl {

struct OwnFile {
  std::int32_t number;  // index into Input::files
  FilePart part;
};

/// Largest first: what is left at the end is small, and the largest tables are made once. Files that several workers read
/// stand in the same order for all of them, so that nobody waits for somebody who waits for him.
std::vector<OwnFile> own_files(const Input& input, int worker);

}  // namespace ccl
