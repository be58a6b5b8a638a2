#include "parse/own_files.hpp"

#include <algorithm>

namespace ccl {

std::vector<OwnFile> own_files(const Input& input, int worker) {
  std::vector<OwnFile> mine;
  for (std::size_t i = 0; i < input.files.size(); ++i) {
    const TraceFile& file = input.files[i];
    const auto number = static_cast<std::int32_t>(i);
    if (file.readers.empty() && file.owner == worker) mine.push_back({number, {}});
    for (std::size_t part = 0; part < file.readers.size(); ++part)
      if (file.readers[part] == worker)
        mine.push_back({number, {static_cast<int>(part), static_cast<int>(file.readers.size())}});
  }
  std::stable_sort(mine.begin(), mine.end(), [&](const OwnFile& a, const OwnFile& b) {
    const auto bytes = [&](const OwnFile& f) { return input.files[static_cast<std::size_t>(f.number)].bytes / f.part.count; };
    return bytes(a) > bytes(b);
  });
  return mine;
}

}  // namespace ccl
