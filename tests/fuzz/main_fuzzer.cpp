// libFuzzer's side of a target. CCL_FUZZ_SEEDS=DIR writes the seeds into DIR and ends.
#include <cstdint>
#include <fstream>

#include "target.hpp"

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size);

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  const char* const folder = std::getenv("CCL_FUZZ_SEEDS");
  if (folder == nullptr) return 0;
  int number = 0;
  for (const std::string& seed : ccl::fuzz::seeds())
    std::ofstream(folder + ("/seed_" + std::to_string(number++)), std::ios::binary) << seed;
  std::exit(0);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  ccl::fuzz::run({reinterpret_cast<const char*>(bytes), size});
  return 0;
}
