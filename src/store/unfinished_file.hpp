// Files under a temporary name, so that a process that must end at once does not leave them behind.
#pragma once
#include <string>

namespace ccl {

/// Names a file for remove_unfinished_files() as long as it lives. At most four at a time are known.
class UnfinishedFile {
 public:
  explicit UnfinishedFile(std::string path);
  ~UnfinishedFile();
  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// May be called from a signal handler.
void remove_unfinished_files() noexcept;

}  // namespace ccl
