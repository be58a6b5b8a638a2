#include "metrics/format.hpp"

#include <algorithm>

namespace ccl {
namespace {

constexpr std::size_t text_column_of_page = 14;

}  // namespace

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
