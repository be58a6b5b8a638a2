// ResultTable: rows on their way out, packed as they will lie in the HDF5 file. Scalars only; text is fixed-length
// UTF-8, padded with zeros. Every column has a unit and a description; absent values are marked by the column.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/bytes.hpp"
#include "core/ids.hpp"
#include "core/kinds.hpp"

namespace ccl {

enum class CellType : std::uint8_t { int64, int32, boolean, float64, text };

struct ColumnInfo {
  std::string name, unit, description;
  CellType type = CellType::int64;
  std::optional<std::int64_t> absent_value;  // of integer columns: −1 or INT64_MIN; float columns use NaN
  std::uint32_t width = 0;                   // bytes in the row; of text: the longest value, at least 1
};

struct ResultTable {
  std::string name;         // last part of the path, e.g. "rows"
  std::string description;
  std::vector<ColumnInfo> columns;
  std::int64_t rows_count = 0;
  Bytes packed;             // rows_count × row_bytes(), little endian, no padding between columns

  std::uint32_t row_bytes() const {
    std::uint32_t total = 0;
    for (const ColumnInfo& column : columns) total += column.width;
    return total;
  }
};

using Cell = std::variant<std::int64_t, double, std::string>;

/// How one column is made from a row type.
template <class Row>
struct ColumnSpec {
  ColumnInfo info;
  std::function<Cell(const Row&)> cell;
};

/// Turns ids into what a reader of the file wants to see. Both may be empty functions where no such column occurs.
struct Resolver {
  std::function<std::string(StringId)> text;       // text of a string id
  std::function<std::int64_t(GroupId)> group_row;  // row of /process_groups, −1 unknown
};

/// Plain members: integers, bool, double, RankId, enums with to_text. Unit and description as they will be shown.
template <class Row, class T>
ColumnSpec<Row> column(std::string name, T Row::*member, std::string unit, std::string description,
                       std::optional<std::int64_t> absent_value = {}) {
  ColumnSpec<Row> spec;
  spec.info = {std::move(name), std::move(unit), std::move(description), CellType::int64, absent_value, 8};
  if constexpr (std::is_same_v<T, RankId>) {
    spec.info.type = CellType::int32;
    spec.info.width = 4;
    spec.cell = [member](const Row& row) { return Cell(std::int64_t{(row.*member).value}); };
  } else if constexpr (std::is_same_v<T, bool>) {
    spec.info.type = CellType::boolean;
    spec.info.width = 1;
    spec.cell = [member](const Row& row) { return Cell(std::int64_t{row.*member ? 1 : 0}); };
  } else if constexpr (std::is_enum_v<T>) {
    spec.info.type = CellType::text;
    spec.cell = [member](const Row& row) { return Cell(std::string(to_text(row.*member))); };
  } else if constexpr (std::is_floating_point_v<T>) {
    spec.info.type = CellType::float64;
    spec.cell = [member](const Row& row) { return Cell(static_cast<double>(row.*member)); };
  } else if constexpr (std::is_same_v<T, std::string>) {
    spec.info.type = CellType::text;
    spec.cell = [member](const Row& row) { return Cell(row.*member); };
  } else {
    static_assert(std::is_integral_v<T>);
    if constexpr (sizeof(T) <= 4) {
      spec.info.type = CellType::int32;
      spec.info.width = 4;
    }
    spec.cell = [member](const Row& row) { return Cell(static_cast<std::int64_t>(row.*member)); };
  }
  return spec;
}

/// A floating value computed from a row (ratios, rates); NaN = absent.
template <class Row>
ColumnSpec<Row> derived(std::string name, std::string unit, std::string description,
                        std::function<double(const Row&)> value) {
  return {{std::move(name), std::move(unit), std::move(description), CellType::float64, {}, 8},
          [value = std::move(value)](const Row& row) { return Cell(value(row)); }};
}

/// A text or an integer computed from a row (ids through a Resolver, for instance).
template <class Row>
ColumnSpec<Row> text_column(std::string name, std::string description,
                            std::function<std::string(const Row&)> value) {
  return {{std::move(name), "", std::move(description), CellType::text, {}, 0},
          [value = std::move(value)](const Row& row) { return Cell(value(row)); }};
}
template <class Row>
ColumnSpec<Row> integer_column(std::string name, std::string unit, std::string description,
                               std::optional<std::int64_t> absent_value,
                               std::function<std::int64_t(const Row&)> value) {
  return {{std::move(name), std::move(unit), std::move(description), CellType::int64, absent_value, 8},
          [value = std::move(value)](const Row& row) { return Cell(value(row)); }};
}

/// Appends one cell to a packed row; text longer than the width is cut at a character border.
void pack_cell(Bytes& packed, const ColumnInfo& column, const Cell& cell);
/// Widens the text columns to the given widths (slices of one table on several workers must agree).
void widen_text(ResultTable& table, const std::vector<std::uint32_t>& widths);

/// Rows -> table. Text columns get the width of their longest value. Cost: one call per cell.
template <class Rows, class Row>
ResultTable make_table(std::string name, std::string description, const std::vector<ColumnSpec<Row>>& specs,
                       const Rows& rows) {
  ResultTable table;
  table.name = std::move(name);
  table.description = std::move(description);
  table.rows_count = static_cast<std::int64_t>(rows.size());
  for (const ColumnSpec<Row>& spec : specs) {
    table.columns.push_back(spec.info);
    if (spec.info.type != CellType::text) continue;
    std::size_t width = 1;
    for (const Row& row : rows) width = std::max(width, std::get<std::string>(spec.cell(row)).size());
    table.columns.back().width = static_cast<std::uint32_t>(width);
  }
  table.packed.reserve(static_cast<std::size_t>(table.rows_count) * table.row_bytes());
  for (const Row& row : rows)
    for (std::size_t c = 0; c < specs.size(); ++c) pack_cell(table.packed, table.columns[c], specs[c].cell(row));
  return table;
}

/// Cell of a packed table, for reports and tests.
Cell cell_at(const ResultTable& table, std::int64_t row, std::string_view column);

}  // namespace ccl
