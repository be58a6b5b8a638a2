// Memory that was freed stays with the process: what one stage frees the next one takes, and the first touch of a page
// costs more than what is written to it. Does nothing without glibc.
#pragma once
#include <cstddef>

namespace ccl {

/// While traces are read: blocks up to 8 MB, and 64 MB at the end of the heap (with heap_pages.hpp 320), one for all threads
/// (what one has freed another takes; they allocate little while they read). Of large traces it is given back at once.
void keep_freed_memory();
/// A trace of that many events needs more memory than first touches of it cost: what it has done with goes at once.
bool is_large(std::size_t events_count);
/// Of a large one: what was kept goes back to the system.
void give_back_freed_memory(std::size_t events_count);
/// Behind the reading, where lists of all ranks are made and left again: blocks of any size, all of the heap.
void keep_all_freed_memory();

}  // namespace ccl
