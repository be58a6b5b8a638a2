// What inflating a .gz trace costs if nothing is done with the text: the best inflate of this build into one reused
// window. Prints bytes of text and CPU seconds (user + system).
//
//   bare_inflate FILE.gz
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <vector>

#include "cpu_time.hpp"
#include "parse/byte_source.hpp"
#include "parse/inflate.hpp"

int main(int count, char** arguments) {
  if (count != 2) return std::fprintf(stderr, "usage: bare_inflate FILE.gz\n"), 2;
  const int file = open(arguments[1], O_RDONLY);
  if (file < 0) return std::perror(arguments[1]), 1;
  const auto inflater = ccl::make_inflater(ccl::InflateBackend::best);
  inflater->restart();
  std::vector<char> compressed(std::size_t{1} << 20), text(std::size_t{4} << 20);
  ccl::TextCheck check;
  std::size_t total = 0;
  for (std::int64_t got = 0; (got = ccl::read_fully(file, compressed.data(), compressed.size())) > 0;) {
    const char* at = compressed.data();
    auto left = static_cast<std::size_t>(got);
    while (true) {
      const ccl::InflateStep step = inflater->step(at, left, text.data(), text.size());
      at += step.consumed, left -= step.consumed, total += step.produced;
      if (inflater->leaves_check()) check.add(ccl::text_of_member(text.data(), step.produced));
      const bool ends_wrong =
          step.status == ccl::InflateStatus::member_end && inflater->leaves_check() && !check.ends_as(step.stated);
      if (step.status == ccl::InflateStatus::damaged || ends_wrong) return std::fprintf(stderr, "damaged\n"), 1;
      if (step.status == ccl::InflateStatus::member_end) inflater->restart();
      if (left == 0 && step.produced < text.size()) break;
    }
  }
  close(file);
  std::printf("bare_inflate text_bytes %zu cpu_s %.3f\n", total, ccl::bench::cpu_seconds());
  return 0;
}
