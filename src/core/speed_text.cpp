#include "core/speed_text.hpp"

#include "core/wording.hpp"

namespace ccl {

bool is_latency(double size_bytes) { return size_bytes < latency_bound_bytes; }

std::string speed_text(double bytes_per_s, double size_bytes, double transfer_ns) {
  if (!is_latency(size_bytes)) return gigabytes_per_s(bytes_per_s);
  return microseconds(transfer_ns) + " (latency of " + gigabytes(size_bytes) + ")";
}

}  // namespace ccl
