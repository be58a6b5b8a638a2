#include "refuse.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "metrics/format.hpp"

namespace ccl {

void refuse_nothing(const Config& config, const Problems& mine, const Comm& comm) {
  constexpr std::size_t shown_most = 8;
  Problems all;
  for (const Bytes& part : comm.gather_all(mine.pack())) all.unite(Problems::unpack(part));
  std::vector<std::pair<std::string, std::string>> files;  // each once, with all that is wrong with it
  bool only_rank_unknown = false;
  for (const Problem& row : all.rows()) {
    if (info(row.code).severity == Severity::notice && row.code != Code::no_gpu_events) continue;
    if (row.file.empty()) continue;
    auto at = std::find_if(files.begin(), files.end(), [&](const auto& file) { return file.first == row.file; });
    const bool first = at == files.end();
    if (first) at = files.insert(at, {row.file, ""});
    at->second += (first ? "" : " and ") + std::string(info(row.code).name);
    if (!row.detail.empty()) at->second += ", " + row.detail;
  }
  std::string why;
  for (std::size_t i = 0; i < files.size(); ++i) {
    only_rank_unknown = only_rank_unknown || files[i].second == info(Code::no_rank).name;
    if (i < shown_most) why += (i == 0 ? "" : ", ") + files[i].first + ": " + files[i].second;
  }
  if (files.size() > shown_most) why += ", and " + std::to_string(files.size() - shown_most) + " more";
  const bool no_gpu = all.count(Code::no_gpu_events) > 0;
  throw FatalError(ExitCode::bad_request,
                   "no usable trace in " + config.input.folders.front() + " (" + why + ")" +
                       (only_rank_unknown ? ". See --rank-regex if only file names tell the ranks."
                        : no_gpu          ? ". Profile with ProfilerActivity.CUDA."
                                          : ""));
}

void refuse_absent_steps(const LocalResults& local, const Config& config, const Comm& comm) {
  const auto asked = steps_asked(config);
  if (asked.empty()) return;
  ByteWriter mine;
  mine.array(std::vector<std::int64_t>(local.steps_seen.begin(), local.steps_seen.end()));
  std::set<std::int64_t> seen;
  for (const Bytes& part : comm.gather_all(mine.take())) {
    const std::vector<std::int64_t> steps = ByteReader(part).array<std::int64_t>();
    seen.insert(steps.begin(), steps.end());
  }
  for (const auto& [option, step] : asked) {
    if (seen.count(step) != 0) continue;
    const std::string present = seen.empty()
                                    ? "no trace has steps"
                                    : fmt::format("{}, {} to {}", counted(seen.size(), "step"), *seen.begin(), *seen.rbegin());
    throw FatalError(ExitCode::bad_request, fmt::format("{} is in no trace ({})", option, present));
  }
}

void keep_older_result(const Config& config, const Comm& comm) {
  together(comm, [&] {
    std::error_code error;
    if (comm.is_first() && std::filesystem::file_size(config.output.hdf5, error) > 0 && !error)
      throw FatalError(ExitCode::ended_early,
                       "ended early (no trace had been read yet) " + config.output.hdf5 + " is left as it was");
  });
}

}  // namespace ccl
