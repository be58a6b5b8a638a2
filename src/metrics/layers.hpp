// Layer numbers in the names of CPU slices: "FSDP::pre_forward (layers.3)" -> 3. Read once per distinct name.
#pragma once
#include <charconv>
#include <string_view>
#include <vector>

#include "core/tables.hpp"

namespace ccl {

/// N of the first "layers.N" in the name; −1 if there is none.
inline std::int32_t layer_in(std::string_view name) {
  constexpr std::string_view word = "layers.";
  for (std::size_t at = name.find(word); at != std::string_view::npos; at = name.find(word, at + 1)) {
    std::int32_t number = -1;
    const char* const first = name.data() + at + word.size();
    if (std::from_chars(first, name.data() + name.size(), number).ec == std::errc() && number >= 0) return number;
  }
  return -1;
}

class LayerNames {
 public:
  explicit LayerNames(const RankTrace& trace) : layers_(trace.strings.size(), -1) {
    std::vector<bool> asked(layers_.size());
    for (const CpuSlice& slice : trace.slices) {
      if (asked[slice.name]) continue;
      asked[slice.name] = true;
      layers_[slice.name] = layer_in(trace.strings.text(slice.name));
      if (layers_[slice.name] >= 0) none_ = false;
    }
  }
  bool none() const { return none_; }
  std::int32_t of(const CpuSlice& slice) const { return layers_[slice.name]; }

 private:
  std::vector<std::int32_t> layers_;  // by string index
  bool none_ = true;
};

}  // namespace ccl
