// Both splitters on any text, in pieces: every level must find what the scalar one finds in one piece, and the quick one
// what the careful one finds, unless the text is damaged.
#include <simdjson.h>

#include "kineto_text.hpp"
#include "parse/event_splitter.hpp"
#include "parse/line_splitter.hpp"
#include "parse/salvage.hpp"
#include "target.hpp"

namespace ccl::fuzz {
namespace {

struct Split {
  std::vector<std::pair<std::size_t, std::size_t>> spans;
  SplitStop stop = SplitStop::end;
  std::size_t position = 0;
  std::int32_t depth = 0;
  friend bool operator==(const Split&, const Split&) = default;
};

template <class Splitter>
Split split(Splitter splitter, std::string_view text, SplitLevel level, std::size_t piece) {
  const std::string padded = std::string(text) + std::string(64, '"');
  Split out;
  SplitState state;
  std::vector<EventSpan> spans(64);
  std::size_t at = 0;
  for (std::size_t to = std::min(piece, text.size());; to = std::min(to + piece, text.size())) {
    SplitResult r;
    do {
      r = splitter(padded.data(), at, to, to == text.size(), state, spans.data(), spans.size(), level);
      require(r.position >= at && r.position <= to, "the position moves forward in the window");
      at = r.position;
      for (std::size_t i = 0; i < r.count; ++i) out.spans.emplace_back(spans[i].begin, spans[i].end);
    } while (r.stop == SplitStop::full);
    out.stop = r.stop;
    if (r.stop != SplitStop::end || to == text.size()) break;
  }
  out.position = at;
  out.depth = state.depth;
  return out;
}

/// Whether every object is JSON and nothing but these, commas, space and null stands there.
bool undamaged(std::string_view text, const Split& found) {
  static simdjson::dom::parser parser;
  if (found.stop != SplitStop::end || found.depth != 0) return false;
  std::size_t at = 0;
  for (const auto& [begin, end] : found.spans) {
    if (text.substr(at, begin - at).find_first_not_of(" \t\n\r,nul") != std::string_view::npos) return false;
    const simdjson::padded_string object(text.substr(begin, end - begin));
    simdjson::dom::element element;
    if (parser.parse(object).get(element) != simdjson::SUCCESS) return false;
    at = end;
  }
  return true;
}

}  // namespace

std::vector<std::string> seeds() {
  std::vector<std::string> out = kineto_seeds();
  for (const char* const text : {R"({"a":{"b":[{}]}}, {"c":"}{"},{"d":"\"}"} , {})", R"({"a":1}], "n": 2} {"b":3})",
                                 R"({"name":"a"b"},{"name":"c"})",
                                 "[,\n  {\n    \"a\": 1\n  },\n  {\n    \"b\": {\n      \"c\": 2\n    }\n  },\n  {\n    \"d\": 3"})
    out.emplace_back(text);
  return out;
}

void run(std::string_view bytes) {
  const Split whole = split(split_events, bytes, SplitLevel::scalar, bytes.size() + 1);
  const Split lines = split(split_lines, bytes, SplitLevel::scalar, bytes.size() + 1);
  require(lines.spans == whole.spans || !undamaged(bytes, whole), "the quick splitter finds the events of good text");
  for (const SplitLevel level : {SplitLevel::scalar, SplitLevel::avx2, SplitLevel::avx512}) {
    if (level > best_split_level()) continue;
    for (const std::size_t piece : {bytes.size() + 1, std::size_t{64}, std::size_t{100}}) {
      require(split(split_events, bytes, level, piece) == whole, "all levels and pieces split alike");
      require(split(split_lines, bytes, level, piece).spans == lines.spans, "all levels and pieces split lines alike");
    }
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
