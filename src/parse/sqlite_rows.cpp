#include "parse/sqlite_rows.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <charconv>

namespace ccl {
namespace {

std::string quoted(std::string_view name) {
  std::string out = "\"";
  for (const char c : name) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

/// What SQLite says is wrong. It cites the file, whose bytes may be anything.
std::string message(sqlite3* database) {
  std::string text = database == nullptr ? "out of memory" : sqlite3_errmsg(database);
  std::replace_if(text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return text;
}

// The URI form keeps SQLite from creating journals beside a file on a read-only medium.
std::string immutable_uri(const std::string& path) {
  std::string uri = "file:";
  for (const char c : path) {
    if (c == '%' || c == '?' || c == '#') {
      constexpr char digits[] = "0123456789ABCDEF";
      const auto byte = static_cast<unsigned char>(c);
      uri += '%';
      uri += digits[byte >> 4];
      uri += digits[byte & 15];
    } else {
      uri += c;
    }
  }
  return uri + "?mode=ro&immutable=1";
}

/// Left to SQLite, which need not read the other columns of a row that is not wanted. Of a text that is no plain number
/// SQLite and integer() think differently: those rows come all.
std::string condition(const ProcessFilter& filter) {
  const std::string column = quoted(filter.column), number = "CAST(" + column + " AS INTEGER)";
  std::string list;
  for (const std::uint64_t process : filter.processes)
    list.append(list.empty() ? "" : ",").append(std::to_string(process));
  const auto wanted = [&](const std::string& id) {
    return "(" + id + " >> 24 & 1099511627775) " + (filter.others ? "NOT IN (" : "IN (") + list + ")";
  };
  return " WHERE CASE typeof(" + column + ") WHEN 'integer' THEN " + wanted(column) + " WHEN 'text' THEN CAST(" +
         number + " AS TEXT) <> " + column + " OR " + wanted(number) + " ELSE " + (filter.others ? "1" : "0") + " END" +
         (filter.or_else.empty() ? "" : " OR " + filter.or_else);
}

}  // namespace

std::unique_ptr<SqliteFile> SqliteFile::open(const std::string& path, std::string& error) {
  std::unique_ptr<SqliteFile> file(new SqliteFile);
  const int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX;
  if (sqlite3_open_v2(immutable_uri(path).c_str(), &file->database_, flags, nullptr) != SQLITE_OK) {
    error = message(file->database_);
    return nullptr;
  }
  // Traces are input from outside: no extensions, no triggers, a bound on strange SQL in a schema.
  sqlite3_db_config(file->database_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(file->database_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(file->database_, "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name", -1,
                         &statement, nullptr) != SQLITE_OK) {
    error = message(file->database_);
    return nullptr;
  }
  int state = sqlite3_step(statement);
  for (; state == SQLITE_ROW; state = sqlite3_step(statement)) {
    const auto* name = reinterpret_cast<const char*>(sqlite3_column_text(statement, 0));
    if (name != nullptr) file->tables_.emplace_back(name);
  }
  if (state != SQLITE_DONE) error = message(file->database_);
  sqlite3_finalize(statement);
  return state == SQLITE_DONE ? std::move(file) : nullptr;
}

SqliteFile::~SqliteFile() { sqlite3_close_v2(database_); }

std::string SqliteFile::table(std::string_view name) const {
  std::string best;
  int best_version = -1;
  for (const std::string& candidate : tables_) {
    if (candidate == name) return candidate;
    if (candidate.size() <= name.size() + 2 || !candidate.starts_with(name) ||
        candidate.compare(name.size(), 2, "_V") != 0)
      continue;
    int version = -1;
    const char* end = candidate.data() + candidate.size();
    const auto [stop, failed] = std::from_chars(candidate.data() + name.size() + 2, end, version);
    if (failed == std::errc() && stop == end && version > best_version) {
      best = candidate;
      best_version = version;
    }
  }
  return best;
}

std::vector<std::string> SqliteFile::columns(const std::string& table) const {
  std::vector<std::string> names;
  sqlite3_stmt* statement = nullptr;
  const std::string sql = "PRAGMA table_info(" + quoted(table) + ")";
  if (sqlite3_prepare_v2(database_, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) return names;
  while (sqlite3_step(statement) == SQLITE_ROW) {
    const auto* name = reinterpret_cast<const char*>(sqlite3_column_text(statement, 1));
    if (name != nullptr) names.emplace_back(name);
  }
  sqlite3_finalize(statement);
  return names;
}

SqliteRows::SqliteRows(const SqliteFile& file, std::string_view table, std::span<const std::string_view> columns,
                       const ProcessFilter* filter)
    : database_(file.database_), positions_(columns.size(), -1) {
  const std::string name = file.table(table);
  if (name.empty()) return;
  const std::vector<std::string> present = file.columns(name);
  std::string list;
  int position = 0;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (std::find(present.begin(), present.end(), columns[i]) == present.end()) continue;
    list += (position > 0 ? ", " : "") + quoted(columns[i]);
    positions_[i] = position++;
  }
  if (position == 0) return;
  const bool filtered = filter != nullptr && std::find(present.begin(), present.end(), filter->column) != present.end();
  if (filter != nullptr && !filtered && !filter->others) return;  // no row of this table names a process
  if (filtered && filter->or_else.empty()) filter_ = filter;
  const auto column = filter_ == nullptr ? columns.begin() : std::find(columns.begin(), columns.end(), filter->column);
  filter_column_ = static_cast<std::size_t>(column - columns.begin());
  const std::string sql = "SELECT " + list + " FROM " + quoted(name) + (filtered ? condition(*filter) : "");
  if (sqlite3_prepare_v2(database_, sql.c_str(), -1, &statement_, nullptr) != SQLITE_OK)
    error_ = message(database_);
}

SqliteRows::~SqliteRows() { sqlite3_finalize(statement_); }

bool SqliteRows::next() {
  if (statement_ == nullptr || damaged()) return false;
  int state = sqlite3_step(statement_);
  while (state == SQLITE_ROW && filter_ != nullptr && names_other()) state = sqlite3_step(statement_);
  if (state == SQLITE_ROW) return true;
  if (state != SQLITE_DONE) error_ = message(database_);
  return false;
}

bool SqliteRows::names_other() const {
  if (sqlite3_value_type(value(filter_column_)) != SQLITE_TEXT) return false;
  const std::uint64_t process = static_cast<std::uint64_t>(integer(filter_column_).value_or(0)) >> 24;
  const auto& listed = filter_->processes;
  return (std::find(listed.begin(), listed.end(), process) != listed.end()) == filter_->others;
}

// Asking for the value once is cheaper than for type and number by column. The connection is one thread's (NOMUTEX),
// for which SQLite protects every value.
sqlite3_value* SqliteRows::value(std::size_t column) const {
  return positions_[column] < 0 ? nullptr : sqlite3_column_value(statement_, positions_[column]);
}

std::optional<std::int64_t> SqliteRows::integer(std::size_t column) const {
  sqlite3_value* const cell = value(column);
  if (cell == nullptr) return {};
  const int type = sqlite3_value_type(cell);
  if (type == SQLITE_INTEGER) return sqlite3_value_int64(cell);
  if (type != SQLITE_TEXT) return {};
  // Some tools rewrite exports with every column as text.
  const std::string_view digits = text(column);
  std::int64_t number = 0;
  const auto [stop, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (failed != std::errc() || digits.empty() || stop != digits.data() + digits.size()) return {};
  return number;
}

std::string_view SqliteRows::text(std::size_t column) const {
  sqlite3_value* const cell = value(column);
  return cell == nullptr || sqlite3_value_type(cell) == SQLITE_BLOB ? std::string_view() : bytes(column);
}

std::string_view SqliteRows::bytes(std::size_t column) const {
  sqlite3_value* const cell = value(column);
  if (cell == nullptr || sqlite3_value_type(cell) == SQLITE_NULL) return {};
  const void* bytes = sqlite3_value_blob(cell);
  const auto size = static_cast<std::size_t>(sqlite3_value_bytes(cell));
  return bytes == nullptr ? std::string_view() : std::string_view(static_cast<const char*>(bytes), size);
}

std::span<const std::byte> SqliteRows::blob(std::size_t column) const {
  const std::string_view all = bytes(column);
  return {reinterpret_cast<const std::byte*>(all.data()), all.size()};
}

}  // namespace ccl
