// The event splitter on any text, in pieces: every level must find what the scalar one finds in one piece.
#include "kineto_text.hpp"
#include "parse/event_splitter.hpp"
#include "parse/salvage.hpp"
#include "target.hpp"

namespace ccl::fuzz {
namespace {

struct Split {
  std::vector<std::pair<std::size_t, std::size_t>> spans;
  SplitStop stop = SplitStop::end;
  std::size_t position = 0;
  friend bool operator==(const Split&, const Split&) = default;
};

Split split(std::string_view text, SplitLevel level, std::size_t piece) {
  const std::string padded = std::string(text) + std::string(64, '"');
  Split out;
  SplitState state;
  std::vector<EventSpan> spans(64);
  std::size_t at = 0;
  for (std::size_t to = std::min(piece, text.size());; to = std::min(to + piece, text.size())) {
    SplitResult r;
    do {
      r = split_events(padded.data(), at, to, to == text.size(), state, spans.data(), spans.size(), level);
      require(r.position >= at && r.position <= to, "the position moves forward in the window");
      at = r.position;
      for (std::size_t i = 0; i < r.count; ++i) out.spans.emplace_back(spans[i].begin, spans[i].end);
    } while (r.stop == SplitStop::full);
    out.stop = r.stop;
    if (r.stop != SplitStop::end || to == text.size()) break;
  }
  out.position = at;
  return out;
}

}  // namespace

std::vector<std::string> seeds() {
  std::vector<std::string> out = kineto_seeds();
  for (const char* const text : {R"({"a":{"b":[{}]}}, {"c":"}{"},{"d":"\"}"} , {})", R"({"a":1}], "n": 2} {"b":3})",
                                 R"({"name":"a"b"},{"name":"c"})"})
    out.emplace_back(text);
  return out;
}

void run(std::string_view bytes) {
  const Split whole = split(bytes, SplitLevel::scalar, bytes.size() + 1);
  for (const SplitLevel level : {SplitLevel::scalar, SplitLevel::avx2, SplitLevel::avx512}) {
    if (level > best_split_level()) continue;
    for (const std::size_t piece : {bytes.size() + 1, std::size_t{64}, std::size_t{100}})
      require(split(bytes, level, piece) == whole, "all levels and pieces split alike");
  }
  for (const bool at_end : {false, true}) {
    std::size_t from = 0;
    for (int round = 0; round < 100; ++round) {
      const Salvage found = find_next_event(bytes, from, at_end);
      require(found.position >= from && found.position <= bytes.size(), "salvage moves forward in the window");
      if (found.found != SalvageFound::event) break;
      from = found.position + 1;
    }
  }
}

}  // namespace ccl::fuzz
