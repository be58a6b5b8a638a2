// One file that a target rewrites for each input, where that costs no disk; gone at the end of the program.
#pragma once
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace ccl::fuzz {

class ScratchFile {
 public:
  explicit ScratchFile(const std::string& name) {
    const std::filesystem::path memory = "/dev/shm";
    std::error_code ignored;
    const bool usable = std::filesystem::is_directory(memory, ignored) && access(memory.c_str(), W_OK) == 0;
    path_ = (usable ? memory : std::filesystem::temp_directory_path()) / ("ccl_fuzz_" + std::to_string(getpid()) + name);
  }
  ~ScratchFile() { std::remove(path_.c_str()); }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  const std::string& hold(std::string_view bytes) {
    std::ofstream file(path_, std::ios::binary | std::ios::trunc);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return path_;
  }

 private:
  std::string path_;
};

}  // namespace ccl::fuzz
