// A bandwidth for people. The rate of a message that small says how long a hop takes, not what the link carries: the time
// is told instead.
#pragma once
#include <string>

namespace ccl {

/// Bus bytes below which a message is latency.
inline constexpr double latency_bound_bytes = 64 * 1024;

/// Of collectives of `size_bytes` bus bytes in the median or mean; absent sizes (NaN) are not small.
bool is_latency(double size_bytes);
/// "163 GB/s"; of small ones "23.6 us (latency of 4 B)".
std::string speed_text(double bytes_per_s, double size_bytes, double transfer_ns);

}  // namespace ccl
