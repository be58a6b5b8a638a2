#include "standard_output.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "core/problems.hpp"

namespace ccl {
namespace {

int first_error = 0;  // errno of the first write that failed

void flush_stdout(bool good) {
  if (std::fflush(stdout) != 0) good = false;
  if (!good && first_error == 0) first_error = errno;
}

}  // namespace

void write_to_stdout(const std::string& text) {
  errno = 0;
  flush_stdout(std::fwrite(text.data(), 1, text.size(), stdout) == text.size());
}

int exit_status_after_output(int status, const std::function<void(const std::string&)>& complain) {
  flush_stdout(true);
  if (first_error == 0 || first_error == EPIPE) return status;
  complain("stdout cannot be written (" + std::string(std::strerror(first_error)) + ")");
  return status == 0 ? static_cast<int>(ExitCode::runtime_failure) : status;
}

}  // namespace ccl
