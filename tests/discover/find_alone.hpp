// What one worker finds without others.
#pragma once
#include "discover/trace_files.hpp"

namespace ccl::test {

inline Input find_alone(const Config& config, const CanRead& can_read, Problems& problems) {
  const FileTree tree = find_files(config, problems);
  std::vector<Sniffed> sniffed;
  for (const FoundFile& file : tree.files) sniffed.push_back(sniff(file.path));
  return find_input(config, can_read, tree, sniffed, problems);
}

}  // namespace ccl::test
