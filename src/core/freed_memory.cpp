#include "core/freed_memory.hpp"

#include <climits>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace ccl {

void keep_freed_memory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 8 << 20);
  mallopt(M_TRIM_THRESHOLD, 64 << 20);
  mallopt(M_ARENA_MAX, 1);
#endif
}

bool is_large(std::size_t events_count) { return events_count >= std::size_t{1} << 19; }

void give_back_freed_memory([[maybe_unused]] std::size_t events_count) {
#ifdef __GLIBC__
  if (is_large(events_count)) malloc_trim(0);
#endif
}

void keep_all_freed_memory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, INT_MAX);
#endif
}

}  // namespace ccl
