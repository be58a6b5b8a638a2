// Compressed traces with both inflaters, the text of which is anything.
#include "kineto_text.hpp"
#include "parse/byte_source.hpp"
#include "scratch_file.hpp"
#include "support/gzip_text.hpp"
#include "target.hpp"

namespace ccl::fuzz {
namespace {

struct Inflated {
  std::string text;
  SourceStatus status = SourceStatus::more;
  std::int64_t trailing_bytes = 0;
};

Inflated inflate(const std::string& path, InflateBackend backend, std::size_t window_bytes) {
  SourceMemory memory;
  const std::unique_ptr<ByteSource> source = open_source(path, window_bytes, memory, 0, backend);
  Inflated out;
  constexpr std::size_t enough = std::size_t{4} << 20;
  while (out.text.size() < enough && source->next(0)) out.text.append(source->window(), source->size());
  out.status = source->status();
  out.trailing_bytes = source->trailing_bytes();
  return out;
}

}  // namespace

std::vector<std::string> seeds() {
  std::vector<std::string> out;
  for (const std::string& text : kineto_seeds()) out.push_back(test::gzip(text));
  const std::string one = test::gzip("{\"traceEvents\": []}");
  for (const std::string& more : {one + one, one + "garbage", one.substr(0, one.size() / 2), one + std::string(600, '\0'),
                                  test::gzip(""), std::string("\x1f\x8b", 2), std::string("plain")})
    out.push_back(more);
  return out;
}

void run(std::string_view bytes) {
  static ScratchFile file(".json.gz");
  const std::string& path = file.hold(bytes);
  const Inflated large = inflate(path, InflateBackend::zlib, 1 << 16), small = inflate(path, InflateBackend::zlib, 64);
  require(large.text == small.text && large.status == small.status && large.trailing_bytes == small.trailing_bytes,
          "large and small windows hold the same");
  const Inflated other = inflate(path, InflateBackend::best, 1000);
  require(large.status != SourceStatus::end || other.status != SourceStatus::end || other.text == large.text,
          "both inflaters give the same text");
}

}  // namespace ccl::fuzz
