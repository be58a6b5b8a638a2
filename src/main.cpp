// ccl-analyze: what was asked, MPI start and end, exit code. The only file that prints.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "comm/comm.hpp"
#include "config/check.hpp"
#include "config/command_line.hpp"
#include "config/job.hpp"
#include "core/freed_memory.hpp"
#include "launch.hpp"
#include "progress_line.hpp"
#include "run.hpp"
#include "same_build.hpp"
#include "standard_output.hpp"
#include "store/replaced_files.hpp"
#include "store/results.hpp"
#include "store/unfinished_file.hpp"

namespace {

using namespace ccl;

std::atomic<int> stop_signals{0};
std::atomic<bool> says_why{false};  // this process is the one that prints
std::atomic<bool> on_terminal{false};
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

/// write(2) only: it is called from a signal handler.
void say_ending(int signal) {
  const std::string_view line =
      signal == SIGUSR1  ? "ccl-analyze: ending early (SIGUSR1). Results of what was read follow.\n"
      : signal == SIGINT ? "ccl-analyze: ending early (SIGINT). Results of what was read follow; once more ends at once.\n"
                         : "ccl-analyze: ending early (SIGTERM). Results of what was read follow if the launcher waits;"
                           " with SIGUSR1 mpirun does.\n";
  constexpr std::string_view clear = "\r\x1b[K";
  ssize_t done = 0;
  if (on_terminal) done += write(STDERR_FILENO, clear.data(), clear.size());
  done += write(STDERR_FILENO, line.data(), line.size());
  static_cast<void>(done);  // there is nobody left to tell
}

void on_signal(int signal) {
  const int error_number = errno;
  if (stop_signals.fetch_add(1) > 0) {
    remove_unfinished_files();
    _exit(static_cast<int>(ExitCode::ended_early));
  }
  if (says_why) say_ending(signal);
  errno = error_number;
}

void catch_signals(const Launch& launch) {
  says_why = launch.first_process;
  on_terminal = isatty(STDERR_FILENO) != 0;
  for (const int signal : {SIGTERM, SIGINT, SIGUSR1}) std::signal(signal, on_signal);
  std::signal(SIGXFSZ, SIG_IGN);  // a file size limit then is a failed write, which is reported as a full disk is
}

void print(std::FILE* to, const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), to);
  std::fflush(to);
}
std::string as_lines(const std::string& text) {
  return text.empty() || text.back() == '\n' ? printable(text) : printable(text) + "\n";
}
void complain(const std::string& message) { print(stderr, as_lines("ccl-analyze: " + message)); }

/// Everything that needs neither MPI nor a trace.
void answer(const Request& request) {
  switch (request.action) {
    case Action::help: return write_to_stdout(help_text());
    case Action::version: return write_to_stdout("ccl-analyze " CCL_VERSION "\n");
    case Action::list_metrics: return write_to_stdout(metric_list_text());
    case Action::dump_config: return write_to_stdout(job_text(request.config));
    case Action::content_hash: return write_to_stdout(content_hash(request.hash_file) + "\n");
    case Action::analyze: break;
  }
}

int exit_status(ExitCode code) { return static_cast<int>(code); }

/// One call of run(); worker 0 prints what it says.
ExitCode analyze_once(const Config& config, const Comm& comm, std::string& text) {
  const ProgressStyle style = config.output.quiet ? ProgressStyle::none
                              : isatty(STDERR_FILENO) != 0 ? ProgressStyle::bar
                                                           : ProgressStyle::lines;
  SharedProgress progress(comm, style, [](const std::string& line) { print(stderr, line); }, stop_signals,
                          config.time_limit_s);
  Outcome outcome;
  try {
    outcome = run(config, comm, progress);
    progress.clear();
  } catch (...) {
    progress.clear();
    throw;
  }
  text = outcome.text;
  if (comm.is_first()) print(stderr, as_lines(outcome.notes));
  return outcome.exit_code;
}

/// --each-run: every run into its own file. A run that cannot be analysed does not keep the others from it.
ExitCode analyze_each(const Config& config, const Comm& comm) {
  Problems ignored;
  Config any = config;
  any.input.iterations.clear();  // each run has its own
  const std::vector<std::string> runs = discover(any, comm, ignored).runs;
  const std::vector<Config> configs = one_config_per_run(config, runs);
  together(comm, [&] {
    if (comm.is_first()) std::for_each(configs.begin(), configs.end(), check_replaced_files);
  });
  ExitCode worst = ExitCode::done;
  std::string all;
  for (const Config& one : configs) {
    ExitCode code = ExitCode::done;
    std::string text;
    try {
      code = analyze_once(one, comm, text);
    } catch (const FatalError& error) {
      code = error.exit_code();
      if (comm.is_first()) complain("run " + one.input.run + ": " + error.what());
    }
    if (!text.empty()) all += (all.empty() ? "" : config.output.json ? ",\n" : "\n") + text;
    if (worst == ExitCode::done) worst = code;
    if (code == ExitCode::ended_early) {
      worst = code;
      break;
    }
  }
  if (comm.is_first()) write_to_stdout(as_lines(config.output.json ? "[" + all + "]" : all));
  return worst;
}

ExitCode analyze(const Config& config, const Comm& comm) {
  together(comm, [&] {
    if (!comm.is_first()) return;
    check_window(config);
    check_output_place(config);
    if (!config.input.each_run) check_replaced_files(config);
  });
  if (config.input.each_run) return analyze_each(config, comm);
  std::string text;
  const ExitCode code = analyze_once(config, comm, text);
  if (comm.is_first()) write_to_stdout(as_lines(text));
  return code;
}

/// MPI is up. A request that one worker could not read is refused by all of them.
ExitCode serve(const Request& request, const std::exception_ptr& refused, const Launch& launch, const Comm& comm) {
  try {
    if (const std::string problem = problem_after_mpi(launch, comm.num_workers()); !problem.empty()) {
      if (launch.first_process) complain(problem);
      return ExitCode::bad_request;
    }
    refuse_mixed_builds(this_build(), comm);
    together(comm, [&] {
      if (refused) std::rethrow_exception(refused);
    });
    return analyze(request.config, comm);
  } catch (const FatalError& error) {
    if (comm.is_first()) complain(error.what());
    return error.exit_code();
  } catch (const std::bad_alloc&) {  // outside together()
    complain("out of memory (worker " + std::to_string(comm.worker()) + "). Use more workers or more nodes.");
    comm.abort(exit_status(ExitCode::runtime_failure));
  } catch (const std::exception& error) {
    complain("worker " + std::to_string(comm.worker()) + ": internal error (" + error.what() + "). Please report it.");
    comm.abort(exit_status(ExitCode::runtime_failure));
  }
}

std::string quoted(const std::vector<std::string>& args) {
  std::string line = "ccl-analyze";
  for (const std::string& arg : args) {
    const bool plain = !arg.empty() && arg.find_first_of(" \t\n'\"\\$`*?;&|<>()#~") == std::string::npos;
    line += plain ? " " + arg : " '" + arg + "'";
  }
  return line;
}

int run_program(int argc, char** argv) {
  const Launch launch = inspect_launch([](const char* name) -> const char* { return std::getenv(name); });
  const std::vector<std::string> args(argv + 1, argv + argc);
  Request request;
  std::exception_ptr refused;
  try {
    request = read_request(args);
    request.config.command_line = quoted(args);
    if (request.action != Action::analyze) {
      // One copy of the answer, whatever started us; nothing is said to the others, so MPI is not needed.
      if (launch.first_process) answer(request);
      return exit_status(ExitCode::done);
    }
  } catch (const FatalError& error) {
    refused = std::current_exception();
    if (!launch.by_launcher || request.action != Action::analyze) {
      if (launch.first_process) complain(error.what());
      return exit_status(error.exit_code());
    }
  } catch (const std::exception& error) {
    complain(std::string("internal error (") + error.what() + "). Please report it.");
    return exit_status(ExitCode::runtime_failure);
  }
  if (const std::string problem = problem_before_mpi(launch); !problem.empty()) {
    if (launch.first_process) complain(problem);
    return exit_status(ExitCode::bad_request);
  }

  try {
    catch_signals(launch);  // a batch system may send its warning while MPI starts
    const Comm comm(argc, argv, launch.alone ? MpiStart::alone : MpiStart::needed);
    catch_signals(launch);  // MPI may have brought handlers of its own
    const ExitCode code = serve(request, refused, launch, comm);
    says_why = false;  // a launcher that ends the others because one of them was first to leave is no news
    return exit_status(code);
  } catch (const std::exception& error) {  // MPI would not start
    complain(error.what());
    return exit_status(ExitCode::runtime_failure);
  }
}

}  // namespace

int main(int argc, char** argv) {
  keep_freed_memory();
  return exit_status_after_output(run_program(argc, argv), complain);
}
