// The floor under passes over memory of one size: what a cache line costs in order and out of order, and the first touch of a page.
// memory_walk MB prints them in ns of CPU. What fits the caches costs less, so that a run of six times the ranks, with six times
// the memory, takes more time a record although it does the same work a record. A virtual machine that gives free memory back to
// its host (free page reporting) pays three to six times as much for a page that the host has taken.
#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <numeric>
#include <vector>

namespace {

constexpr std::size_t line_bytes = 64;
struct alignas(line_bytes) Line {
  std::uint64_t next = 0;
};

template <class Pass>
double ns_a_line(std::size_t lines_count, Pass pass) {
  constexpr std::size_t least_lines = std::size_t{1} << 22;
  const std::size_t passes = 1 + least_lines / lines_count;
  const std::clock_t began = std::clock();
  for (std::size_t p = 0; p < passes; ++p) pass();
  const double took_s = static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC;
  return took_s * 1e9 / static_cast<double>(passes * lines_count);
}

double ns_a_first_touch(std::size_t bytes) {
  constexpr std::size_t page_bytes = 4096;
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return -1;
  const std::clock_t began = std::clock();
  for (std::size_t at = 0; at < bytes; at += page_bytes) static_cast<volatile char*>(memory)[at] = 1;
  const double took_s = static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC;
  munmap(memory, bytes);
  return took_s * 1e9 * page_bytes / static_cast<double>(bytes);
}

}  // namespace

int main(int argc, char** argv) {
  const double megabytes = argc > 1 ? std::strtod(argv[1], nullptr) : 0;
  if (megabytes < 1) {
    std::fputs("memory_walk MB (1 or more)\n", stderr);
    return 2;
  }
  const double first_touch = ns_a_first_touch(static_cast<std::size_t>(megabytes * 1e6));
  std::vector<Line> lines(static_cast<std::size_t>(megabytes * 1e6) / line_bytes);
  // One round through all lines, each next one anywhere (Sattolo).
  std::vector<std::uint32_t> order(lines.size());
  std::iota(order.begin(), order.end(), 0U);
  std::uint64_t random = 88172645463325252;
  for (std::size_t i = order.size() - 1; i > 0; --i) {
    random ^= random << 13, random ^= random >> 7, random ^= random << 17;  // xorshift64 (Marsaglia)
    std::swap(order[i], order[random % i]);
  }
  for (std::size_t i = 0; i < order.size(); ++i) lines[order[i]].next = order[(i + 1) % order.size()];
  order = {};
  std::uint64_t sum = 0, at = 0;
  const double in_order = ns_a_line(lines.size(), [&] { for (const Line& line : lines) sum += line.next; });
  const double anywhere = ns_a_line(lines.size(), [&] { for (std::size_t i = lines.size(); i-- > 0;) at = lines[at].next; });
  std::printf("%.3f %.3f %.3f ns a line, in order and anywhere, and a page touched first (%llu)\n", in_order, anywhere,
              first_touch, static_cast<unsigned long long>(sum + at));
  return 0;
}
