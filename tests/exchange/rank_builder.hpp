// An input of named files and one RankFacts per file, for tests of the rank rules.
#pragma once
#include <string>
#include <vector>

#include "exchange/ranks.hpp"

namespace ccl::test {

class RankBuilder {
 public:
  /// A file whose trace says rank and world_size inside (−1: nothing).
  RankFacts& add(const std::string& name, std::int32_t rank, std::int64_t world_size = -1,
                 std::int32_t rank_in_name = -1) {
    TraceFile file;
    file.shown = name;
    file.bytes = 1000;
    file.rank_in_name = rank_in_name;
    input.files.push_back(file);
    RankFacts f;
    f.file = static_cast<std::int32_t>(facts.size());
    f.rank = RankId(rank);
    f.world_size = world_size;
    f.events_count = f.gpu_events_count = 10;
    f.fingerprint = 100 + facts.size();
    facts.push_back(f);
    facts.reserve(64);  // references that add() returned stay good
    return facts.back();
  }
  Ranks resolve() {
    problems = Problems();
    return resolve_ranks(facts, input, config, problems);
  }

  Input input;
  Config config;
  std::vector<RankFacts> facts;
  Problems problems;
};

inline std::vector<std::int32_t> rank_numbers(const Ranks& ranks) {
  std::vector<std::int32_t> numbers;
  for (const RankEntry& e : ranks.entries) numbers.push_back(e.rank.value);
  return numbers;
}

}  // namespace ccl::test
