// What the columns of a table are, as bytes for another worker.
#pragma once
#include <vector>

#include "core/bytes.hpp"
#include "core/result_table.hpp"

namespace ccl {

void pack_columns(const std::vector<ColumnInfo>& columns, ByteWriter& out);
std::vector<ColumnInfo> unpack_columns(ByteReader& in);

}  // namespace ccl
