#include "parse/memory_snapshot.hpp"

#include <algorithm>

#include "parse/memory_replay.hpp"
#include "parse/pickle_reader.hpp"
#include "parse/snapshot_records.hpp"

namespace ccl {
namespace {

Problem problem_of(const TraceFile& file, Code code, std::string detail, std::int64_t offset = -1) {
  Problem problem;
  problem.code = code;
  problem.iteration = file.iteration;
  problem.rank = file.rank_in_name;
  problem.file = file.shown;
  problem.offset = offset;
  problem.detail = std::move(detail);
  return problem;
}

}  // namespace

std::vector<DeviceMemory> read_memory_snapshot(const TraceFile& file, const ReadOptions& options, Problems& problems,
                                               Progress& progress) {
  SourceMemory memory;
  const auto source = open_source(file.path, static_cast<std::size_t>(options.window_bytes), memory, options.inflate_limit);
  Pickle pickle;
  SnapshotRecords records(pickle);
  std::int64_t reported = 0;
  const PickleFailure failure = read_pickle(*source, records, {}, pickle, [&](std::int64_t used) {
    progress.add_bytes(used - reported);
    reported = used;
    return !progress.stop_requested();
  });
  if (source->status() == SourceStatus::unreadable) {
    problems.add(problem_of(file, Code::unreadable_file, source->error()));
    return {};
  }
  if (!failure.why.empty()) {
    const Code code = failure.refused                              ? Code::pickle_refused
                      : progress.stop_requested()                  ? Code::not_read
                      : source->status() == SourceStatus::gzip_cut ? Code::gzip_cut
                      : source->status() == SourceStatus::too_large ? Code::size_limit
                                                                   : Code::pickle_invalid;
    problems.add(problem_of(file, code, failure.why, failure.offset));
    return {};
  }
  if (!records.is_snapshot) {
    problems.add(problem_of(file, Code::pickle_invalid, "the pickle is no memory snapshot"));
    return {};
  }
  std::vector<DeviceMemory> found = replay(records, pickle.texts);
  if (std::any_of(found.begin(), found.end(), [](const DeviceMemory& m) { return m.cut; }))
    problems.add(problem_of(file, Code::size_limit, "blocks or the oldest trace entries were left out"));
  return found;
}

}  // namespace ccl
