// Reading tables of an SQLite file through its C API (sqlite_rows.cpp is the only file that includes sqlite3.h):
// read-only, immutable, sequential. Columns are asked for by name; a missing column reads as absent, a missing table
// as empty, since exports of different versions have different ones.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "parse/table_row.hpp"

struct sqlite3;
struct sqlite3_stmt;
struct sqlite3_value;

namespace ccl {

class SqliteFile {
 public:
  /// Null and a reason in `error` if the file is no readable SQLite database.
  static std::unique_ptr<SqliteFile> open(const std::string& path, std::string& error);
  ~SqliteFile();
  SqliteFile(const SqliteFile&) = delete;
  SqliteFile& operator=(const SqliteFile&) = delete;

  /// The table of that name; else NAME_V<n> with the highest n; else "".
  std::string table(std::string_view name) const;
  std::vector<std::string> columns(const std::string& table) const;
  const std::vector<std::string>& tables() const { return tables_; }

 private:
  friend class SqliteRows;
  SqliteFile() = default;
  sqlite3* database_ = nullptr;
  std::vector<std::string> tables_;
};

/// Rows of some processes: by a column that holds a globalPid or globalTid, whose upper 40 bits name the process.
struct ProcessFilter {
  std::string_view column;
  std::vector<std::uint64_t> processes;
  bool others = false;        // all but those; rows that name no process count as process 0
  std::string or_else = "";   // and rows for which this SQL condition holds
};

/// One pass over a table in rowid order. Values are good until the next next().
class SqliteRows final : public TableRow {
 public:
  /// A table that does not exist gives no rows. The column of a filter is one of the columns.
  SqliteRows(const SqliteFile& file, std::string_view table, std::span<const std::string_view> columns,
             const ProcessFilter* filter = nullptr);
  ~SqliteRows() override;
  SqliteRows(const SqliteRows&) = delete;
  SqliteRows& operator=(const SqliteRows&) = delete;

  bool next();                                          // false at the end and when the file is damaged
  bool damaged() const { return !error_.empty(); }
  const std::string& error() const { return error_; }
  bool has_table() const { return statement_ != nullptr || !error_.empty(); }
  bool has_column(std::size_t column) const { return positions_[column] >= 0; }

  std::optional<std::int64_t> integer(std::size_t column) const override;
  std::string_view text(std::size_t column) const override;  // empty for a blob, too
  std::span<const std::byte> blob(std::size_t column) const override;

 private:
  std::string_view bytes(std::size_t column) const;
  sqlite3_value* value(std::size_t column) const;  // null if the table lacks the column
  bool names_other() const;                        // as a text, a process that the filter leaves out
  sqlite3* database_ = nullptr;
  sqlite3_stmt* statement_ = nullptr;
  std::vector<int> positions_;  // of each asked column in the statement, −1 if the table lacks it
  std::string error_;
  const ProcessFilter* filter_ = nullptr;  // null: all rows that come are wanted
  std::size_t filter_column_ = 0;
};

}  // namespace ccl
