// The tables of a Nsight Systems export that are read, with their columns, and what is done with a row. Every form of
// export goes through this list. Tables and columns come and go between versions; all may be absent.
#pragma once
#include <functional>
#include <string_view>
#include <vector>

#include "parse/nsys_build.hpp"
#include "parse/table_row.hpp"

namespace ccl {

struct NsysTable {
  std::string_view name;
  std::vector<std::string_view> columns;
  /// False if the row lacks a number without which it means nothing.
  std::function<bool(const TableRow&)> take;
};

/// In the order in which they are best read: descriptions, GPU, CPU. The list refers to all its arguments.
std::vector<NsysTable> nsys_tables(NsysBuild& build, const TraceFile& file, Problems& problems);

}  // namespace ccl
