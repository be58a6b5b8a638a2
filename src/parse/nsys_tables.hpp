// The tables of a Nsight Systems export that are read, with their columns, and what is done with a row. Every form of
// export goes through this list. Tables and columns come and go between versions; all may be absent.
#pragma once
#include <array>
#include <functional>
#include <optional>
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
  /// The column that names the process a row is of; empty: the rows are of the file.
  std::string_view process_column = "";
  bool names_ranks = false;  // rows of other processes may tell ranks and communicators
  bool makes_steps = true;   // false: samples and descriptions; what of them is lost is missing in no step
};

/// What owns a row by its globalPid, 0 if none does: -1 is written for none, too.
std::uint64_t process_of_row(std::optional<std::int64_t> global_pid);

/// A row that take() did not want.
NsysLostRow lost_row_of(const NsysTable& table, const TableRow& row);

/// Of a row of GPU work, where the kernels name their processes: whether build.gpu() would keep an event, its process and
/// its device. The table is one of nsys_gpu_tables, its first six columns nsys_gpu_columns.
bool read_gpu_place(const TableRow& row, std::uint64_t& process, std::int32_t& device);
extern const std::array<std::string_view, 4> nsys_gpu_tables;
extern const std::array<std::string_view, 6> nsys_gpu_columns;

/// In the order in which they are best read: descriptions, GPU, CPU. The list refers to all its arguments.
std::vector<NsysTable> nsys_tables(NsysBuild& build, const TraceFile& file, Problems& problems);

}  // namespace ccl
