#include "core/wording.hpp"

#include <array>
#include <cmath>
#include <cstdio>

namespace ccl {
namespace {

std::string with_unit(double value, const char* unit) {
  std::array<char, 64> text{};
  const double size = std::abs(value);
  const int digits = size >= 100 ? 0 : size >= 10 ? 1 : 2;
  std::snprintf(text.data(), text.size(), "%.*f %s", digits, value, unit);
  return text.data();
}

}  // namespace

std::string milliseconds(double ns) {
  if (std::isnan(ns)) return "unknown";
  const double size = std::abs(ns);
  if (size >= 1e10) return with_unit(ns / 1e9, "s");
  if (size >= 1e5 || size == 0) return with_unit(ns / 1e6, "ms");
  return with_unit(ns / 1e3, "us");
}

std::string microseconds(double ns) { return std::isnan(ns) ? "unknown" : with_unit(ns / 1e3, "us"); }

std::string percent(double ratio) {
  if (std::isnan(ratio)) return "unknown";
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f %%", ratio * 100);
  return text.data();
}

std::string gigabytes(double bytes) {
  if (std::isnan(bytes)) return "unknown";
  const double size = std::abs(bytes);
  if (size >= 1e8) return with_unit(bytes / 1e9, "GB");
  if (size >= 1e5) return with_unit(bytes / 1e6, "MB");
  if (size >= 1e3) return with_unit(bytes / 1e3, "kB");
  return std::to_string(std::llround(bytes)) + " B";
}

std::string gigabytes_per_s(double bytes_per_s) {
  return std::isnan(bytes_per_s) ? "unknown" : gigabytes(bytes_per_s) + "/s";
}

std::string counted(std::size_t count, const std::string& thing) {
  return std::to_string(count) + " " + thing + (count == 1 ? "" : "s");
}

std::string short_name(std::string_view name, std::size_t most) {
  return name.size() <= most ? std::string(name) : std::string(name.substr(0, most)) + "…";
}

std::string step_name(StepId step) {
  if (step.step == outside_step) return "outside every step";
  const std::string name = "step " + std::to_string(step.step);
  return step.iteration < 0 ? name : name + " (iteration_" + std::to_string(step.iteration) + ")";
}

std::string rank_name(std::int32_t replica, RankId rank) {
  const std::string name = "rank " + std::to_string(rank.value);
  return replica < 0 ? name : name + " of replica " + std::to_string(replica);
}

}  // namespace ccl
