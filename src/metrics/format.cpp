#include "metrics/format.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace ccl {
namespace {

constexpr std::size_t text_column_of_page = 14;

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

std::string group_name(const Groups& groups, GroupId id) {
  const std::int32_t row = groups.row_of(id);
  if (row < 0) return "an unknown group";
  const Group& group = groups.groups[static_cast<std::size_t>(row)];
  std::string text = group.description.empty() ? group.name : group.description;
  text = text.empty() ? "all" : "'" + text + "'";
  text += " (" + std::string(to_text(group.dimension));
  if (group.size > 0) text += ", " + counted(static_cast<std::size_t>(group.size), "rank");
  return text + ")";
}

Dimension dimension_of(const Groups& groups, GroupId id, CollectiveOp op) {
  const Group* const group = groups.find(id);
  const Dimension dimension = group == nullptr ? Dimension::unknown : group->dimension;
  const bool expert = op == CollectiveOp::dispatch || op == CollectiveOp::combine;
  return expert && dimension == Dimension::unknown ? Dimension::ep : dimension;
}

void add_line(std::vector<std::string>& lines, const std::string& label, const std::string& text) {
  constexpr std::size_t columns = 100;
  std::string line = label;
  line.resize(std::max<std::size_t>(label.size() + 1, text_column_of_page), ' ');
  const std::size_t indent = line.size();
  std::size_t from = 0;
  while (text.size() - from > columns - indent) {
    std::size_t cut = text.rfind(' ', from + columns - indent);
    if (cut == std::string::npos || cut <= from) cut = from + columns - indent;
    lines.push_back(line + text.substr(from, cut - from));
    from = cut + (text[cut] == ' ' ? 1 : 0);
    line.assign(indent, ' ');
  }
  lines.push_back(line + text.substr(from));
}

void add_capped(std::vector<std::string>& lines, const std::vector<std::string>& more, std::size_t most) {
  CappedLines capped(most);
  for (const std::string& line : more) capped.add([&] { return line; });
  capped.add_to(lines);
}

void CappedLines::add_to(std::vector<std::string>& lines) const {
  lines.insert(lines.end(), shown_.begin(), shown_.end());
  if (left_out_ > 0) lines.push_back("  and " + std::to_string(left_out_) + " more in the HDF5 file");
}

}  // namespace ccl
