// The HDF5 file, written and read without a word of HDF5 in this header: hdf5.h reaches only src/store/hdf5_*.cpp,
// through hdf5_handle.hpp. In: packed rows (ResultTable, int32 and int64 arrays) and attributes; out: one file that
// appears under its name only when it is whole. Failures are FatalError; no half-written file is left behind.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "comm/comm.hpp"
#include "core/result_table.hpp"
#include "store/unfinished_file.hpp"

namespace ccl {

using AttributeValue = std::variant<std::int64_t, double, std::string>;
using NamedAttribute = std::pair<std::string, AttributeValue>;

/// Shape of one dataset. A table has columns; numbers (columns empty) are int32 or int64, [rows] or [rows, width].
struct DatasetLayout {
  std::string path;
  std::vector<ColumnInfo> columns = {};
  CellType number_type = CellType::int64;  // of numbers
  std::int64_t width = 0;                  // of numbers: 0 = one-dimensional
  std::int64_t rows_count = 0;
  std::int64_t chunk_rows = 0;  // 0 = stored whole, without filters

  bool is_table() const { return !columns.empty(); }
  std::size_t element_bytes() const;  // one table row, or one number
  std::size_t row_bytes() const;
  std::int64_t chunks_count() const { return chunk_rows == 0 ? 0 : (rows_count + chunk_rows - 1) / chunk_rows; }
};

/// A file being written by one process under a temporary name in the target's folder (unpredictable, never an existing
/// file, mode 0666 & ~umask). commit() gives it its name; without it the destructor removes it.
class OutputFile {
 public:
  /// Throws FatalError(bad_request) if the place cannot be written.
  explicit OutputFile(const std::string& target);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// Creates the group and missing parents; an existing group is fine.
  void group(const std::string& path);
  void attribute(const std::string& object_path, const std::string& name, const AttributeValue& value);
  /// Creates a dataset and the groups above it. Its rows come by write_whole() or by place_chunk(). What is written to
  /// one object one after the other finds it open.
  void create(const DatasetLayout& layout);
  void write_whole(const DatasetLayout& layout, std::span<const std::byte> rows);
  /// Puts one finished chunk (store/chunks.hpp) at its place.
  void place_chunk(const DatasetLayout& layout, std::int64_t chunk, std::span<const std::byte> filtered);

  /// Closes the file so that all workers can open it together; reopen() takes it back.
  void release();
  void reopen();
  const std::string& temporary_path() const { return temporary_.path(); }
  /// Room on the file system; INT64_MAX if it does not tell.
  std::int64_t free_bytes() const;

  /// Close, fsync, rename, fsync of the folder. An existing target is replaced.
  void commit();

 private:
  /// The group or dataset, which stays open until another is asked for.
  std::int64_t object(const std::string& path, const std::string& what);
  void keep_open(const std::string& path, std::int64_t object);
  void close_object();

  std::string target_;
  UnfinishedFile temporary_;
  std::int64_t file_ = -1, object_ = -1;
  std::string object_path_;
  bool committed_ = false;
};

/// Whether this build and this communicator can write a dataset with all workers at once.
bool can_write_together(const Comm& comm);
/// Collective. Every worker writes its consecutive rows of a new dataset into the closed file. Throws on all or none.
void write_together(const std::string& file_path, const DatasetLayout& layout, std::int64_t first_row,
                    std::span<const std::byte> rows, const Comm& comm);

/// An object of a file: shape is empty for a group.
struct StoredObject {
  std::string path;
  bool is_group = false;
  std::vector<std::int64_t> shape;
};

/// A file open for reading. Only what OutputFile writes is understood; anything else is FatalError(bad_request).
class InputFile {
 public:
  explicit InputFile(const std::string& path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  /// All objects below and including "/", in byte order of their paths.
  std::vector<StoredObject> objects() const;
  bool exists(const std::string& path) const;
  /// By name.
  std::vector<NamedAttribute> attributes(const std::string& object_path) const;
  /// Shape and types; units, descriptions and chunk_rows are not read back.
  DatasetLayout layout(const std::string& path) const;
  /// rows_count rows from first on, packed as in ResultTable.
  Bytes rows(const DatasetLayout& layout, std::int64_t first, std::int64_t rows_count) const;
  ResultTable table(const std::string& path) const;

 private:
  std::string path_;
  std::int64_t file_ = -1;
};

}  // namespace ccl
