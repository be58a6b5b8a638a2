#include "core/pack_columns.hpp"

namespace ccl {

void pack_columns(const std::vector<ColumnInfo>& columns, ByteWriter& out) {
  out.value<std::uint64_t>(columns.size());
  for (const ColumnInfo& column : columns) {
    out.text(column.name);
    out.text(column.unit);
    out.text(column.description);
    out.value(column.type);
    out.value(column.absent_value.has_value());
    out.value(column.absent_value.value_or(0));
    out.value(column.width);
  }
}

std::vector<ColumnInfo> unpack_columns(ByteReader& in) {
  std::vector<ColumnInfo> columns(in.value<std::uint64_t>());
  for (ColumnInfo& column : columns) {
    column.name = in.text();
    column.unit = in.text();
    column.description = in.text();
    column.type = in.value<CellType>();
    const bool has_absent = in.value<bool>();
    const auto absent_value = in.value<std::int64_t>();
    if (has_absent) column.absent_value = absent_value;
    column.width = in.value<std::uint32_t>();
  }
  return columns;
}

}  // namespace ccl
