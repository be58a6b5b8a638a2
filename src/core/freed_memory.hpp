// Memory that was freed stays with the process: what one stage frees the next one takes, and the first touch of a page
// costs more than what is written to it. Does nothing without glibc.
#pragma once

namespace ccl {

/// While traces are read: blocks up to 8 MB, and 64 MB at the end of the heap. Of large traces it is given back
/// (trace_use.cpp).
void keep_freed_memory();
/// Behind the reading, where lists of all ranks are made and left again: blocks of any size, all of the heap.
void keep_all_freed_memory();

}  // namespace ccl
