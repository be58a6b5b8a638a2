#include "parse/nsys_steps.hpp"

#include <algorithm>
#include <charconv>
#include <string>

#include "core/lower_case.hpp"

namespace ccl {

StepMarker step_marker_in_range(std::string_view text) {
  static constexpr std::string_view markers[] = {"profilerstep#", "training_step", "training step", "train_step",
                                                 "train step", "iteration", "iter", "step"};
  if (text.size() > 40) return {};
  const std::string lower = lower_case(text);
  std::int32_t kind = -1;
  for (const std::string_view marker : markers) {
    ++kind;
    if (!lower.starts_with(marker)) continue;
    std::string_view rest = std::string_view(lower).substr(marker.size());
    while (!rest.empty() && std::string_view(" _:#=-").find(rest.front()) != std::string_view::npos) rest.remove_prefix(1);
    std::int64_t number = -1;
    const auto [stop, failed] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    // Nothing may follow the number: "step 3 of 5" or "iter 2 forward" is a part of a step.
    const bool is_marker = failed == std::errc() && stop == rest.data() + rest.size() && number >= 0;
    return is_marker ? StepMarker{number, kind} : StepMarker{};
  }
  return {};
}

RangeText parts_of_range_text(std::string_view text) {
  constexpr std::string_view sequence = ", seq = ", operation = ", op_id = ";
  for (std::size_t at = text.find(','); at != std::string_view::npos; at = text.find(',', at + 1)) {
    const std::string_view rest = text.substr(at);
    if (!rest.starts_with(sequence) && !rest.starts_with(operation)) continue;
    RangeText parts{text.substr(0, at), ", op_id = 0", -1};
    const std::size_t number = rest.find(sequence);
    if (number != std::string_view::npos)
      std::from_chars(rest.data() + number + sequence.size(), rest.data() + rest.size(), parts.sequence);
    if (parts.sequence >= 0) parts.numbered = ", seq = 0";
    return parts;
  }
  return {text, "", -1};
}

std::string slice_name(std::string_view text) {
  const RangeText parts = parts_of_range_text(text);
  const std::string_view name = parts.name;
  const std::size_t digits = name.find_last_not_of("0123456789");
  const std::string_view bare = name.substr(0, digits == std::string_view::npos ? 0 : digits + 1);
  const bool node = parts.sequence >= 0 && bare.ends_with("Backward") && name.find(' ') == std::string_view::npos;
  return (node ? "autograd::engine::evaluate_function: " : "") + std::string(name);
}

}  // namespace ccl
