#include "core/units.hpp"

namespace ccl {

std::string_view unit_of(std::string_view name) {
  constexpr std::string_view units[] = {"tokens_per_s", "samples_per_s", "flops_per_s", "bytes_per_s", "per_s", "ns",
                                        "bytes",        "flops",         "ratio",       "ppb",         "count", "rank"};
  for (const std::string_view unit : units)
    if (name.ends_with(unit) && (name == unit || name[name.size() - unit.size() - 1] == '_')) return unit;
  return "";
}

}  // namespace ccl
