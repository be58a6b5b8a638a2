// Real traces, which are not part of the repository: in the folder CCL_CORPUS, else in ../shared/corpus of the top folder
// or of one above. Without them, the tests that read them are skipped, for one reason in one wording.
#pragma once
#include <cstdlib>
#include <filesystem>

namespace ccl::test {

inline constexpr const char* no_real_traces = "no real traces (set CCL_CORPUS)";

inline std::filesystem::path real_traces() {
  if (const char* const set = std::getenv("CCL_CORPUS"); set != nullptr) return set;
  std::filesystem::path folder = std::filesystem::current_path();
  while (folder != folder.root_path() && !std::filesystem::exists(folder / "../shared/corpus")) folder = folder.parent_path();
  return folder / "../shared/corpus";
}

}  // namespace ccl::test
