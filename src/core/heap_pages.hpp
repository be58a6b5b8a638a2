// Lists of all ranks are written and read in orders of their own: most of what a line of memory costs there is to find its
// page, and to touch it first. In huge pages (2 MB) there are few of either. All of it is advice to the kernel: failure costs
// speed. Does nothing without glibc, or where free memory goes back to a host (below) or addresses are limited.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>

namespace ccl {

/// Once, at the begin, behind keep_freed_memory(): the heap gets room of 256 MB, and grows by at least 32 MB from here on, so
/// that it can be advised before it is written. What is never written takes no memory.
void use_huge_heap_pages();
/// What the heap has grown by since the last call comes in huge pages. Costs nothing if it has not grown.
void advise_heap_growth();
/// Behind keep_all_freed_memory(): the heap grows by so many bytes, up to 1 GB, at once.
void make_heap_room(std::size_t bytes);

/// Whether the kernel hands free pages to the host of this virtual machine (free page reporting): each huge page is then one
/// that the host has taken, and costs a hundred times a page that it has not. order: the least it hands over, as
/// /sys/module/page_reporting/parameters/page_reporting_order says; nothing: there is no such file.
bool gives_pages_to_host(std::optional<std::int64_t> order);

}  // namespace ccl
