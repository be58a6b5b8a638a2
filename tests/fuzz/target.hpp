// What one fuzz target is: its seeds, and one run on any bytes. A run that ends the program, hangs or breaks a rule of
// the target is a find. Two mains use it: libFuzzer's (-DCCL_FUZZ=ON) and the short smoke run of every build.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace ccl::fuzz {

/// Small inputs that reach far, as the tests have them.
std::vector<std::string> seeds();

void run(std::string_view bytes);

/// A rule that must hold for any input.
inline void require(bool holds, const char* rule) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n", rule);
  std::abort();
}

}  // namespace ccl::fuzz
