// One row of a table of an export, whose columns were asked for by name: what SQLite, JSON lines and old JSON exports
// have in common. Values are good until the next row.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace ccl {

class TableRow {
 public:
  virtual ~TableRow() = default;
  virtual std::optional<std::int64_t> integer(std::size_t column) const = 0;  // absent: NULL, missing, or no number
  virtual std::string_view text(std::size_t column) const = 0;                // empty: NULL or missing; any bytes
  virtual std::span<const std::byte> blob(std::size_t column) const = 0;
};

}  // namespace ccl
