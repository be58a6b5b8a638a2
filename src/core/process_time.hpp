// What this process has used so far, as the kernel accounts it: for the timings of stages.
#pragma once
#include <cstdint>

namespace ccl {

double wall_seconds();  // from an arbitrary moment on
double cpu_seconds();   // user and system, all threads
double thread_cpu_seconds();
std::int64_t peak_memory_bytes();

}  // namespace ccl
