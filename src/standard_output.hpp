// stdout of both programs: what is written there and what becomes of the exit code when it cannot be.
#pragma once
#include <functional>
#include <string>

namespace ccl {

/// Writes and flushes; a failure is kept for exit_status_after_output().
void write_to_stdout(const std::string& text);

/// To be returned from main: `status`, but 1 instead of 0 when stdout could not be written, which `complain` is told.
/// A reader that left (`| head -1`) is no failure.
int exit_status_after_output(int status, const std::function<void(const std::string&)>& complain);

}  // namespace ccl
