// Short facts about a run that several outputs state: its configuration as JSON, its mesh, its units, its coverage.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "store/results.hpp"

namespace ccl {

/// What of the configuration determines the content: choices and limits, never paths (a file given by path counts as
/// "given": its effect shows in the content).
std::string config_json(const Config& config);

/// "pp=2 dp_shard=4 tp=8": the dimensions above 1; "one rank" if there are none; "" if unknown.
std::string mesh_text(const Mesh& mesh);

/// Unit of a metric's first value; "" of a text and of no value.
std::string headline_unit(const Report& report);

struct RunFacts {
  std::vector<std::int32_t> iterations;  // distinct, ascending; −1 = none
  std::int64_t steps_count = 0;          // distinct (iteration, step)
  std::int64_t gpus_count = 0;           // distinct (replica, rank, device)
  std::int64_t input_bytes = 0;
  std::vector<std::string> gpu_names, formats, host_sources;  // distinct, sorted
};
RunFacts run_facts(const Results& results);

}  // namespace ccl
