#include "core/heap_pages.hpp"

#include <algorithm>
#include <fstream>

#include "core/address_limits.hpp"

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define CCL_GLIBC_HEAP
#endif

#ifdef CCL_GLIBC_HEAP
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#endif

namespace ccl {
namespace {

#ifdef CCL_GLIBC_HEAP
std::uintptr_t advised_until = 0;  // 0: huge pages are not used

std::optional<std::int64_t> reporting_order() {
  std::ifstream file("/sys/module/page_reporting/parameters/page_reporting_order");
  std::int64_t order = 0;
  return file >> order ? std::optional(order) : std::nullopt;
}

std::uintptr_t heap_end() { return reinterpret_cast<std::uintptr_t>(sbrk(0)); }
#endif

}  // namespace

bool gives_pages_to_host(std::optional<std::int64_t> order) {
  constexpr std::int64_t largest_order = 10;  // of blocks that Linux keeps free (4 KB pages); above it, or below 0, none is handed over
  return order.has_value() && *order >= 0 && *order <= largest_order;
}

void advise_heap_growth() {
#ifdef CCL_GLIBC_HEAP
  if (advised_until == 0) return;
  const std::uintptr_t end = heap_end();
  if (end > advised_until) madvise(reinterpret_cast<void*>(advised_until), end - advised_until, MADV_HUGEPAGE);
  advised_until = end;
#endif
}

void use_huge_heap_pages() {
#ifdef CCL_GLIBC_HEAP
  if (gives_pages_to_host(reporting_order()) || !unused_addresses_are_free()) return;
  advised_until = heap_end();
  constexpr int room_bytes = 256 << 20;
  mallopt(M_TOP_PAD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, room_bytes + (64 << 20));  // the room is no memory that was freed
  mallopt(M_MMAP_MAX, 0);
  make_heap_room(room_bytes);
  mallopt(M_MMAP_MAX, 65536);
#endif
}

void make_heap_room([[maybe_unused]] std::size_t bytes) {
#ifdef CCL_GLIBC_HEAP
  constexpr std::size_t most = std::size_t{1} << 30, few = std::size_t{16} << 20;
  if (advised_until == 0 || bytes < few) return;
  void* volatile room = std::malloc(std::min(bytes, most));  // else a compiler leaves it out
  advise_heap_growth();
  std::free(room);
#endif
}

}  // namespace ccl
