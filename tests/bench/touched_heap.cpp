// Preloaded into ccl-analyze: CCL_TOUCHED_HEAP_MB of heap are touched before the program begins, and stay with it
// whatever it tells malloc. What stages then take is without first touches of pages, whose price is the machine's: a
// virtual one may have given pages that lay free back to its host, and the longer they lay the dearer they are.
#include <dlfcn.h>
#include <errno.h>  // program_invocation_short_name
#include <malloc.h>

#include <climits>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace {

constexpr std::size_t block_bytes = std::size_t{16} << 20, page_bytes = 4096;
bool keeps_all = false;

template <typename Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

[[gnu::constructor]] void touch() {
  const char* megabytes = std::getenv("CCL_TOUCHED_HEAP_MB");
  if (megabytes == nullptr || std::string_view(program_invocation_short_name) != "ccl-analyze") return;
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, INT_MAX);
  std::vector<char*> blocks((std::strtoul(megabytes, nullptr, 10) << 20) / block_bytes);
  for (char*& block : blocks) {
    block = static_cast<char*>(std::malloc(block_bytes));
    if (block == nullptr) std::abort();
    for (std::size_t at = 0; at < block_bytes; at += page_bytes) static_cast<volatile char*>(block)[at] = 1;
  }
  for (char* block : blocks) std::free(block);
  keeps_all = true;
}

}  // namespace

extern "C" int mallopt(int parameter, int value) noexcept {
  return keeps_all ? 1 : real<int(int, int)>("mallopt")(parameter, value);
}

extern "C" int malloc_trim(std::size_t left) noexcept {
  return keeps_all ? 0 : real<int(std::size_t)>("malloc_trim")(left);
}
