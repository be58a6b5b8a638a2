#include "core/result_table.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace ccl {
namespace {

std::size_t cut_at_character(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return text.size();
  while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xC0U) == 0x80U) --limit;
  return limit;
}

}  // namespace

void pack_text(const PackedColumn& column, std::string_view text) {
  text.copy(reinterpret_cast<char*>(column.at), cut_at_character(text, column.width));
}

void widen_text(ResultTable& table, const std::vector<std::uint32_t>& widths) {
  ResultTable wide = table;
  for (std::size_t c = 0; c < wide.columns.size(); ++c)
    if (wide.columns[c].type == CellType::text) wide.columns[c].width = std::max(wide.columns[c].width, widths[c]);
  if (wide.row_bytes() == table.row_bytes()) return;
  wide.packed.assign(static_cast<std::size_t>(wide.rows_count) * wide.row_bytes(), std::byte{0});
  const std::byte* from = table.packed.data();
  std::byte* to = wide.packed.data();
  for (std::int64_t row = 0; row < wide.rows_count; ++row)
    for (std::size_t c = 0; c < wide.columns.size(); ++c) {
      std::memcpy(to, from, table.columns[c].width);
      from += table.columns[c].width;
      to += wide.columns[c].width;
    }
  table = std::move(wide);
}

Cell cell_at(const ResultTable& table, std::int64_t row, std::string_view column) {
  const std::byte* at = table.packed.data() + static_cast<std::size_t>(row) * table.row_bytes();
  for (const ColumnInfo& c : table.columns) {
    if (c.name != column) {
      at += c.width;
      continue;
    }
    const auto number = [at]<class T>(T value) {
      std::memcpy(&value, at, sizeof value);
      return value;
    };
    switch (c.type) {
      case CellType::int64: return number(std::int64_t{});
      case CellType::int32: return std::int64_t{number(std::int32_t{})};
      case CellType::boolean: return std::int64_t{number(std::uint8_t{})};
      case CellType::float64: return number(double{});
      case CellType::text: {
        const auto* text = reinterpret_cast<const char*>(at);
        return std::string(text, strnlen(text, c.width));
      }
    }
  }
  throw std::logic_error("table '" + table.name + "' has no column '" + std::string(column) + "'");
}

}  // namespace ccl
