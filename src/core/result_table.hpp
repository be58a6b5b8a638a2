// ResultTable: rows on their way out, packed as they will lie in the HDF5 file. Scalars only; text is fixed-length
// UTF-8, padded with zeros. Every column has a unit and a description; absent values are marked by the column.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/bytes.hpp"
#include "core/ids.hpp"
#include "core/kinds.hpp"
#include "core/units.hpp"

namespace ccl {

enum class CellType : std::uint8_t { int64, int32, boolean, float64, text };

struct ColumnInfo {
  std::string name, unit, description;
  CellType type = CellType::int64;
  std::optional<std::int64_t> absent_value = {};  // of integer columns: −1 or INT64_MIN; float columns use NaN
  std::uint32_t width = 0;                        // bytes in the row; of text: the longest value, at least 1
};

struct ResultTable {
  std::string name;         // last part of the path, e.g. "rows"
  std::string description;
  std::vector<ColumnInfo> columns;
  std::int64_t rows_count = 0;
  Bytes packed;             // rows_count × row_bytes(), little endian, no padding between columns
  bool shown = false;       // a few rows that answer the metric's question: --output-json has them too

  std::uint32_t row_bytes() const {
    std::uint32_t total = 0;
    for (const ColumnInfo& column : columns) total += column.width;
    return total;
  }
};

using Cell = std::variant<std::int64_t, double, std::string>;

/// Where a column's cells of packed rows lie: one every `row_bytes`.
struct PackedColumn {
  std::byte* at = nullptr;
  std::size_t row_bytes = 0;
  std::uint32_t width = 0;
};
/// A text longer than the width is cut at a character border; what is left of the cell stays as it is (zeros).
void pack_text(const PackedColumn& column, std::string_view text);

/// How one column is made from a row type.
template <class Row>
struct ColumnSpec {
  ColumnInfo info;
  std::function<void(std::span<const Row>, PackedColumn)> pack;
  std::function<std::size_t(std::span<const Row>)> widest;  // of text: the longest value
};

/// How a number of the type T is stored; std::uint8_t is a boolean.
template <class T>
constexpr CellType number_type = std::is_floating_point_v<T> ? CellType::float64
                                 : sizeof(T) == 8            ? CellType::int64
                                 : sizeof(T) == 4            ? CellType::int32
                                                             : CellType::boolean;
/// Numbers: value(row) as T. A unit that is not given is the one that the name says.
template <class Row, class T, class Value>
ColumnSpec<Row> number_spec(ColumnInfo info, Value value) {
  info.type = number_type<T>;
  info.width = sizeof(T);
  if (info.unit.empty()) info.unit = unit_of(info.name);
  return {std::move(info),
          [value](std::span<const Row> rows, PackedColumn to) {
            for (const Row& row : rows) {
              const auto cell = static_cast<T>(value(row));
              std::memcpy(to.at, &cell, sizeof cell);
              to.at += to.row_bytes;
            }
          },
          {}};
}
/// Texts: value(row) as std::string or std::string_view.
template <class Row, class Value>
ColumnSpec<Row> text_spec(ColumnInfo info, Value value) {
  info.type = CellType::text;
  info.width = 0;
  return {std::move(info),
          [value](std::span<const Row> rows, PackedColumn to) {
            for (const Row& row : rows) {
              pack_text(to, value(row));
              to.at += to.row_bytes;
            }
          },
          [value](std::span<const Row> rows) {
            std::size_t widest = 1;
            for (const Row& row : rows) widest = std::max(widest, std::string_view(value(row)).size());
            return widest;
          }};
}

/// Turns ids into what a reader of the file wants to see. Both may be empty functions where no such column occurs.
struct Resolver {
  std::function<std::string_view(StringId)> text;  // text of a string id, as long as the strings live
  std::function<std::int64_t(GroupId)> group_row;  // row of /process_groups, −1 unknown
};

/// Plain members: integers, bool, double, RankId, enums with to_text. Unit and description as they will be shown.
template <class Row, class T>
ColumnSpec<Row> column(std::string name, T Row::*member, std::string unit, std::string description,
                       std::optional<std::int64_t> absent_value = {}) {
  ColumnInfo info{std::move(name), std::move(unit), std::move(description), {}, absent_value};
  if constexpr (std::is_same_v<T, RankId>) {
    return number_spec<Row, std::int32_t>(std::move(info), [member](const Row& row) { return (row.*member).value; });
  } else if constexpr (std::is_same_v<T, bool>) {
    return number_spec<Row, std::uint8_t>(std::move(info), [member](const Row& row) { return row.*member ? 1 : 0; });
  } else if constexpr (std::is_enum_v<T>) {
    return text_spec<Row>(std::move(info), [member](const Row& row) { return std::string_view(to_text(row.*member)); });
  } else if constexpr (std::is_floating_point_v<T>) {
    return number_spec<Row, double>(std::move(info), [member](const Row& row) { return row.*member; });
  } else if constexpr (std::is_same_v<T, std::string>) {
    return text_spec<Row>(std::move(info), [member](const Row& row) { return std::string_view(row.*member); });
  } else {
    static_assert(std::is_integral_v<T>);
    using Stored = std::conditional_t<sizeof(T) <= 4, std::int32_t, std::int64_t>;
    return number_spec<Row, Stored>(std::move(info), [member](const Row& row) { return row.*member; });
  }
}

/// A floating value computed from a row (ratios, rates); NaN = absent.
template <class Row>
ColumnSpec<Row> derived(std::string name, std::string unit, std::string description,
                        std::function<double(const Row&)> value) {
  return number_spec<Row, double>({std::move(name), std::move(unit), std::move(description)}, std::move(value));
}

/// A text or an integer computed from a row (ids through a Resolver, for instance).
template <class Row, class Value>
ColumnSpec<Row> text_column(std::string name, std::string description, Value value) {
  return text_spec<Row>({std::move(name), "", std::move(description)}, std::move(value));
}
template <class Row>
ColumnSpec<Row> integer_column(std::string name, std::string unit, std::string description,
                               std::optional<std::int64_t> absent_value,
                               std::function<std::int64_t(const Row&)> value) {
  return number_spec<Row, std::int64_t>({std::move(name), std::move(unit), std::move(description), {}, absent_value},
                                        std::move(value));
}

/// Widens the text columns to the given widths (slices of one table on several workers must agree).
void widen_text(ResultTable& table, const std::vector<std::uint32_t>& widths);

/// Rows -> table. Text columns get the width of their longest value. A block of rows that stays in the cache is packed
/// column by column.
template <class Rows, class Row>
ResultTable make_table(std::string name, std::string description, const std::vector<ColumnSpec<Row>>& specs,
                       const Rows& rows) {
  constexpr std::size_t block_rows = 256;
  const std::span<const Row> all(rows);
  ResultTable table;
  table.name = std::move(name);
  table.description = std::move(description);
  table.rows_count = static_cast<std::int64_t>(all.size());
  for (const ColumnSpec<Row>& spec : specs) {
    table.columns.push_back(spec.info);
    if (spec.info.type == CellType::text) table.columns.back().width = static_cast<std::uint32_t>(spec.widest(all));
  }
  const std::size_t row_bytes = table.row_bytes();
  table.packed.resize(all.size() * row_bytes);
  for (std::size_t first = 0; first < all.size(); first += block_rows) {
    std::byte* at = table.packed.data() + first * row_bytes;
    const std::span<const Row> block = all.subspan(first, std::min(block_rows, all.size() - first));
    for (std::size_t c = 0; c < specs.size(); at += table.columns[c++].width)
      specs[c].pack(block, {at, row_bytes, table.columns[c].width});
  }
  return table;
}

/// Cell of a packed table, for reports and tests.
Cell cell_at(const ResultTable& table, std::int64_t row, std::string_view column);

}  // namespace ccl
