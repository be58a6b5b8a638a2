// A table whose rows follow from their number, so that any worker can make any slice of it; and a folder of its own.
#pragma once
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "core/result_table.hpp"

namespace ccl::test {

struct SampleRow {
  std::int64_t number = 0;
  std::int64_t time_ns() const { return number * 1000 + number % 7; }
};

inline ResultTable sample_table(std::int64_t first, std::int64_t end, std::string name = "rows") {
  std::vector<SampleRow> rows;
  for (std::int64_t i = first; i < end; ++i) rows.push_back({i});
  const std::vector<ColumnSpec<SampleRow>> columns{
      column("number", &SampleRow::number, "", "number of the row"),
      integer_column<SampleRow>("time_ns", "ns", "a time", -1, [](const SampleRow& row) { return row.time_ns(); }),
      number_spec<SampleRow, std::uint8_t>({"odd", "", "whether the number is odd"},
                                           [](const SampleRow& row) { return row.number % 2; }),
      number_spec<SampleRow, std::int32_t>({"small", "", "a 32-bit number", {}, -1},
                                           [](const SampleRow& row) { return -row.number; }),
      derived<SampleRow>("half_ratio", "", "half of it, unknown for multiples of 5",
                         [](const SampleRow& row) { return row.number % 5 == 0 ? NAN : double(row.number) / 2; }),
      text_column<SampleRow>("name", "a text that grows",
                             [](const SampleRow& row) { return "ké" + std::to_string(row.number); })};
  return make_table(std::move(name), "rows made up for a test", columns, rows);
}

/// Made new, removed at the end with everything in it.
class Folder {
 public:
  explicit Folder(const std::string& name) : path_(std::filesystem::temp_directory_path() / ("ccl_store_" + name)) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string file(const std::string& name) const { return (path_ / name).string(); }
  std::vector<std::string> entries() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) names.push_back(entry.path().filename());
    return names;
  }

 private:
  std::filesystem::path path_;
};

/// Unique to this process.
inline std::string own(const std::string& name) { return name + "_" + std::to_string(getpid()); }

}  // namespace ccl::test
