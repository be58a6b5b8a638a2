// What stands beside the events of a Kineto file: who the rank is, its GPUs, its process groups, the zero of its
// clock. In: top-level keys and values, before or behind the events. Out: a TraceHeader, taken over at the end.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/tables.hpp"
#include "parse/json_text.hpp"

namespace ccl {

struct TraceHeader {
  RankId rank;
  std::int64_t world_size = -1;
  std::int64_t base_ns = 0;
  bool base_out_of_range = false;
  std::string gpu, host, framework_version;
  std::int32_t gpus = 0;
  std::int64_t swallowed_count = 0;  // events that stand in the list of devices
  std::int64_t gpu_memory_bytes = -1;
  std::vector<ProcessGroup> pg_config;

  /// What was read, in order: of a later part of a file the first part reads it again.
  struct Said {
    std::string key, text;
    JsonType type;
  };
  std::vector<Said> said;
  bool keeps_said = false;
};

/// Whether the value of the key is worth keeping in memory whole.
bool is_header_key(std::string_view raw_key);
void read_header_value(std::string_view raw_key, const JsonValue& value, TraceHeader& header);

}  // namespace ccl
