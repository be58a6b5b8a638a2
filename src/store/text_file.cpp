#include "store/text_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <random>

#include "core/problems.hpp"
#include "store/unfinished_file.hpp"

namespace ccl {
namespace {

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

std::string temporary_name(const std::string& target) {
  std::random_device random;
  std::array<char, 17> suffix{};
  std::snprintf(suffix.data(), suffix.size(), "%08x%08x", random(), random());
  return target + ".tmp." + suffix.data();
}

void write_text_file(const std::string& what, const std::string& target, std::string_view text) {
  const UnfinishedFile unfinished(temporary_name(target));
  const std::string& temporary = unfinished.path();
  const int file = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  bool whole = file >= 0 && write_all(file, text);
  int error = errno;
  if (file >= 0 && close(file) != 0 && whole) whole = false, error = errno;
  if (whole && std::rename(temporary.c_str(), target.c_str()) == 0) return;
  if (whole) error = errno;
  if (file >= 0) unlink(temporary.c_str());
  throw FatalError(ExitCode::runtime_failure, what + " '" + target + "' cannot be written (" + std::strerror(error) + ")");
}

}  // namespace ccl
