// Text through a splitter in pieces, as windows arrive: what the tests of both splitters look at.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "parse/event_splitter.hpp"

namespace ccl::test {

struct Split {
  std::vector<std::pair<std::size_t, std::size_t>> spans;
  SplitStop stop = SplitStop::end;
  std::size_t position = 0;
  bool in_string = false;
  std::int32_t depth = 0;
  friend bool operator==(const Split&, const Split&) = default;
};

/// Scans the text in pieces, as windows arrive.
template <class Splitter>
Split split(Splitter splitter, const std::string& text, SplitLevel level, std::size_t piece, std::size_t capacity) {
  const std::string padded = text + std::string(64, ' ');
  Split out;
  SplitState state;
  std::vector<EventSpan> spans(capacity);
  std::size_t at = 0;
  for (std::size_t to = std::min(piece, text.size());; to = std::min(to + piece, text.size())) {
    SplitResult r;
    do {
      r = splitter(padded.data(), at, to, to == text.size(), state, spans.data(), capacity, level);
      at = r.position;
      for (std::size_t i = 0; i < r.count; ++i) out.spans.emplace_back(spans[i].begin, spans[i].end);
    } while (r.stop == SplitStop::full);
    out.stop = r.stop;
    if (r.stop != SplitStop::end || to == text.size()) break;
  }
  out.position = at;
  out.in_string = state.in_string;
  out.depth = state.depth;
  return out;
}

inline std::vector<SplitLevel> levels() {
  std::vector<SplitLevel> out{SplitLevel::scalar};
  if (best_split_level() >= SplitLevel::avx2) out.push_back(SplitLevel::avx2);
  if (best_split_level() >= SplitLevel::avx512) out.push_back(SplitLevel::avx512);
  return out;
}

}  // namespace ccl::test
