// Runs the Kineto reader on a literal trace, for tests: text in, the RankTrace and the problems out. Files are written
// below the test's temporary folder and removed again.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/problems.hpp"
#include "core/tables.hpp"
#include "parse/kineto_reader.hpp"
#include "support/gzip_text.hpp"

namespace ccl::test {

/// A file in the temporary folder with that content, gone at the end of the scope.
class ScratchFile {
 public:
  explicit ScratchFile(std::string_view content, std::string_view name = "trace.json");
  ~ScratchFile();
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// The classifier of the embedded settings.
const Classifier& classifier();

struct ReadSettings {
  std::int64_t window_bytes = largest_window_bytes;
  Wants wants;
  std::size_t limit_bytes = KinetoReader::default_limit_bytes;
  InflateBackend inflate = InflateBackend::best;
  SplitLevel level = best_split_level();
};

struct ReadResult {
  bool called = false;
  RankTrace trace;
  Problems problems;

  std::int64_t count(Code code) const { return problems.count(code); }
  std::string name(std::size_t event) const { return std::string(trace.strings.text(trace.events.name[event])); }
  std::vector<std::string> names() const;
  std::string launch_thread(std::size_t event) const { return trace.threads[trace.events.launch_thread[event]]; }
  const ProcessGroup& group(std::size_t collective) const { return trace.groups[trace.collectives[collective].group]; }
  Problem first(Code code) const;
};

ReadResult read_path(const std::string& path, const ReadSettings& settings = {});
ReadResult read_text(std::string_view text, const ReadSettings& settings = {});

/// {"traceEvents": [events]} and the other top-level members, "" or e.g. "\"baseTimeNanoseconds\": 5,".
std::string trace_text(std::string_view events, std::string_view members_before = "");
/// A kernel on device 0; more = further args, each with a comma before it.
std::string kernel_text(std::string_view name, std::string_view ts, std::string_view dur, int stream = 7,
                        int correlation = 0, std::string_view more = "");
std::string launch_text(std::string_view name, std::string_view ts, int correlation, std::string_view thread = "11");

/// The regular files of a .tar.gz, by name without folders.
std::vector<std::pair<std::string, std::string>> unpack_tar_gz(const std::string& path);

}  // namespace ccl::test
