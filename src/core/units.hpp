// The unit of a number is the suffix of its name, in the file, in the JSON and on our side: nobody states it twice.
#pragma once
#include <string_view>

namespace ccl {

/// "ns" of "step_mean_ns", "count" of "steps_count"; "" if the name ends in no unit.
std::string_view unit_of(std::string_view name);

}  // namespace ccl
