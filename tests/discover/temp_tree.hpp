// A folder tree in a temporary place, removed at the end of the test.
#pragma once
#include <unistd.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace ccl::test {

class TempTree {
 public:
  TempTree() {
    static int made = 0;
    top_ = std::filesystem::temp_directory_path() /
           ("ccl-tree-" + std::to_string(::getpid()) + "-" + std::to_string(made++));
    std::filesystem::create_directories(top_);
  }
  ~TempTree() {
    std::error_code ignored;
    std::filesystem::remove_all(top_, ignored);
  }
  TempTree(const TempTree&) = delete;
  TempTree& operator=(const TempTree&) = delete;

  std::string path(std::string_view name = "") const {
    return (name.empty() ? top_ : top_ / std::string(name)).string();
  }
  void add(const std::string& name, std::string_view content) const {
    std::filesystem::create_directories((top_ / name).parent_path());
    std::ofstream(top_ / name, std::ios::binary) << content;
  }
  void add_gzip(const std::string& name, std::string_view content) const {
    add(name, "");
    gzFile file = gzopen(path(name).c_str(), "wb");
    gzwrite(file, content.data(), static_cast<unsigned>(content.size()));
    gzclose(file);
  }
  void link(const std::string& name, const std::string& target) const {
    std::filesystem::create_directories((top_ / name).parent_path());
    std::filesystem::create_symlink(target, top_ / name);
  }

 private:
  std::filesystem::path top_;
};

inline constexpr std::string_view kineto = R"({"schemaVersion": 1, "traceEvents": []})";

}  // namespace ccl::test
