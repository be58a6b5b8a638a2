#include "discover/nsys_export.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

extern char** environ;

namespace ccl {
namespace {

bool exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

/// 0 if the program ran and succeeded; else why not. No shell: names of files are no commands.
std::string run_export(const std::string& report, const std::string& target) {
  std::array<std::string, 8> words{"nsys",   "export", "--type=sqlite", "--include-blobs=true", "--include-json=true",
                                   "--output", target,   report};
  std::array<char*, 9> arguments{};
  std::transform(words.begin(), words.end(), arguments.begin(), [](std::string& word) { return word.data(); });
  posix_spawn_file_actions_t quiet;
  posix_spawn_file_actions_init(&quiet);
  posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&quiet, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int failed = posix_spawnp(&child, "nsys", &quiet, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&quiet);
  if (failed == ENOENT)
    throw FatalError(ExitCode::bad_request, "--nsys-export: there is no nsys on PATH. Export elsewhere with " +
                                                export_advice(report));
  if (failed != 0) return std::strerror(failed);
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return std::strerror(errno);
  if (!WIFEXITED(status)) return "nsys export was stopped by a signal";
  if (WEXITSTATUS(status) != 0) return "nsys export ended with code " + std::to_string(WEXITSTATUS(status));
  return exists(target) ? "" : "nsys export wrote no file";
}

}  // namespace

bool is_nsys_report(std::string_view name) { return name.ends_with(".nsys-rep") || name.ends_with(".qdrep"); }

std::string export_of(const std::string& report) { return report.substr(0, report.rfind('.')) + ".sqlite"; }

std::string export_advice(const std::string& report) {
  return "nsys export --type=sqlite --include-blobs=true --include-json=true " + std::string(file_name(report)) +
         " (the two --include flags keep NCCL's message sizes)";
}

bool export_reports(const FileTree& tree, Problems& problems) {
  bool any = false;
  for (const FoundFile& file : tree.files) {
    if (!is_nsys_report(file.path) || exists(export_of(file.path))) continue;
    const std::string why = run_export(file.path, export_of(file.path));
    any = any || why.empty();
    if (why.empty()) continue;
    Problem problem;
    problem.code = Code::unreadable_file;
    problem.file = file.shown;
    problem.detail = why;
    problems.add(std::move(problem));
  }
  return any;
}

}  // namespace ccl
