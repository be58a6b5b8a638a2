#include "core/freed_memory.hpp"

#include <climits>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace ccl {
namespace {

void keep([[maybe_unused]] int largest_bytes, [[maybe_unused]] int kept_bytes) {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, largest_bytes);
  mallopt(M_TRIM_THRESHOLD, kept_bytes);
#endif
}

}  // namespace

void keep_freed_memory() { keep(8 << 20, 64 << 20); }

void keep_all_freed_memory() { keep(32 << 20, INT_MAX); }

}  // namespace ccl
