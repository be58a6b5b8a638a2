#include "core/file_trouble.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace ccl {

std::string file_trouble(const std::string& path) {
  constexpr const char *denied = "permission denied", *not_regular = "not a regular file: pipes and stdin are not read";
  struct stat found {};
  if (stat(path.c_str(), &found) != 0)
    return path == "-" ? not_regular : errno == EACCES ? denied : "no such file";
  if (S_ISDIR(found.st_mode)) return "a folder";
  if (!S_ISREG(found.st_mode)) return not_regular;
  return access(path.c_str(), R_OK) == 0 ? "" : denied;
}

}  // namespace ccl
