// The `args` of GPU events, launches and record_param_comms. In: the text of the object. Out: numbers, and for
// communication the Collective row with its process group and split lists.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/tables.hpp"
#include "parse/json_text.hpp"

namespace ccl {

/// −1 / 0 where absent.
struct GpuArguments {
  std::int64_t device = -1, stream = 0, correlation = 0, external_id = -1, bytes = -1;
  bool has_stream = false, has_collective = false, has_shape = false;
  float blocks_per_sm = 0, warps_per_sm = 0, occupancy_percent = 0;  // NaN = absent, if has_shape
};

enum class ArgumentNeeds : std::uint8_t {
  ids,    // stop once the ids are known and no communication argument follows
  all
};
GpuArguments read_gpu_arguments(std::string_view arguments, ArgumentNeeds needs);
/// The same from behind the correlation on, where device and stream came before it.
void read_behind_ids(const char* at, const char* end, ArgumentNeeds needs, GpuArguments& out);

struct LaunchArguments {
  std::int64_t correlation = 0, external_id = -1;
};
LaunchArguments read_launch_arguments(std::string_view arguments);

/// Bytes that a GPU copies or holds; −1: none, or more than 2^48, so that sums of a file fit 64 bits.
std::int64_t device_bytes(std::string_view text);

/// "Sequence number" of an autograd operation, −1 if there is none.
std::int32_t read_sequence_number(std::string_view arguments);

/// Communication arguments as the trace writes them.
struct CommunicationArguments {
  bool any = false;
  std::string_view collective, dtype, group_name, group_description;
  JsonValue members, in_split, out_split;
  std::int64_t in_elements = -1, out_elements = -1, group_size = -1, sequence = -1, source = -1, destination = -1;
  std::int64_t external_id = -1;
  bool has_group() const { return !group_name.empty() || !group_description.empty() || members.present(); }
};
CommunicationArguments read_communication_arguments(std::string_view arguments);

/// A list of numbers, as a list or as a string of one ("[0, 1, 2]"). cut: it ends in "…" (the profiler keeps 30).
struct NumberList {
  std::vector<std::int64_t> numbers;
  bool cut = false;
};
NumberList read_number_list(const JsonValue& value);

}  // namespace ccl
