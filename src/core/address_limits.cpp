#include "core/address_limits.hpp"

#include <sys/resource.h>

#include <fstream>

namespace ccl {
namespace {

bool is_limited(decltype(RLIMIT_AS) resource) {
  rlimit limit{};
  return getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

bool counts_all_addresses() {
  int how = 0;
  return std::ifstream("/proc/sys/vm/overcommit_memory") >> how && how == 2;
}

}  // namespace

bool unused_addresses_are_free() {
  static const bool free = !is_limited(RLIMIT_AS) && !is_limited(RLIMIT_DATA) && !counts_all_addresses();
  return free;
}

}  // namespace ccl
