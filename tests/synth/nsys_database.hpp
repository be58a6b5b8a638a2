// The SQLite file of a Nsight Systems export: its tables as version 3.20 has them, and rows put into them.
#pragma once
#include <sqlite3.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace synth {

using SqlBlob = std::vector<unsigned char>;
using SqlCell = std::variant<std::monostate, std::int64_t, std::string_view, const SqlBlob*>;  // monostate: NULL

class NsysDatabase {
 public:
  /// Replaces a file of that name. Throws std::runtime_error.
  explicit NsysDatabase(const std::string& path);
  /// columns: comma separated; those not named are NULL.
  void insert(const char* table, const char* columns, std::initializer_list<SqlCell> cells);
  /// Id of a text in StringIds.
  std::int64_t string_id(const std::string& text);
  void close();

 private:
  struct Close {
    void operator()(sqlite3* database) const { sqlite3_close(database); }
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  void execute(const char* sql);

  std::unique_ptr<sqlite3, Close> database_;
  std::map<std::pair<const char*, const char*>, std::unique_ptr<sqlite3_stmt, Close>> statements_;
  std::map<std::string, std::int64_t> strings_;
};

}  // namespace synth
