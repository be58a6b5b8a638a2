// One line of a JSON export -> the table it belongs to and its columns. Two forms: JSON lines (a key "table", columns as
// in SQLite) and the older --type=json (protobuf objects with a type number; 64-bit integers as strings).
#pragma once
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "parse/json_text.hpp"
#include "parse/table_row.hpp"

namespace ccl {

struct NsysJsonLine {
  std::string_view table;                                        // empty: nothing that is read
  std::vector<std::pair<std::string_view, JsonValue>> columns;
  std::vector<std::string_view> strings;                         // the old form's {"data":[…]}, escaped
};
/// False if the line is no JSON object. Views point into the line.
bool read_nsys_json_line(std::string_view line, NsysJsonLine& out);

/// The columns a table asks for, of one line.
class JsonRow final : public TableRow {
 public:
  JsonRow(const NsysJsonLine& line, const std::vector<std::string_view>& columns);
  std::optional<std::int64_t> integer(std::size_t column) const override;
  std::string_view text(std::size_t column) const override;
  std::span<const std::byte> blob(std::size_t) const override { return {}; }

 private:
  std::vector<const JsonValue*> values_;
  mutable std::deque<std::string> texts_;  // unescaped
};

}  // namespace ccl
