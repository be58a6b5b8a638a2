#include "store/hdf5_handle.hpp"

#include <array>
#include <new>

namespace ccl::hdf5 {
namespace {

struct Reason {
  std::string system, innermost;
};
std::string kept_reason;

// HDF5 starts before main, thus before MPI: then it neither ends itself in MPI_Finalize nor at exit. Ending would
// crash after a full disk, because a file whose closing failed stays in HDF5's books as a dangling pointer.
const bool started = [] {
  H5dont_atexit();
  return H5open() >= 0 && H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr) >= 0;
}();

// HDF5 wraps errno into its text: "…, errno = 28, error message = 'No space left on device', …".
herr_t collect(unsigned, const H5E_error2_t* entry, void* out) {
  auto& found = *static_cast<Reason*>(out);
  const std::string text = entry->desc == nullptr ? "" : entry->desc;
  if (found.innermost.empty()) found.innermost = text;
  const std::string mark = "error message = '";
  const std::size_t at = text.find(mark);
  if (found.system.empty() && at != std::string::npos) {
    const std::size_t from = at + mark.size();
    found.system = text.substr(from, text.find('\'', from) - from);
  }
  return 0;
}

Handle type_of(const ColumnInfo& column) {
  switch (column.type) {
    case CellType::int64: return {H5Tcopy(H5T_STD_I64LE), H5Tclose};
    case CellType::int32: return {H5Tcopy(H5T_STD_I32LE), H5Tclose};
    case CellType::float64: return {H5Tcopy(H5T_IEEE_F64LE), H5Tclose};
    case CellType::boolean: {  // the enum that h5py and PyTables read as bool
      Handle type(H5Tenum_create(H5T_STD_I8LE), H5Tclose);
      const std::array<signed char, 2> values{0, 1};
      H5Tenum_insert(type, "FALSE", values.data());
      H5Tenum_insert(type, "TRUE", values.data() + 1);
      return type;
    }
    case CellType::text: break;
  }
  Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type, column.width);
  H5Tset_cset(type, H5T_CSET_UTF8);
  H5Tset_strpad(type, H5T_STR_NULLPAD);
  return type;
}

}  // namespace

void keep_reason() {
  Reason found;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, collect, &found);
  if (!found.innermost.empty()) kept_reason = found.system.empty() ? found.innermost : found.system;
}

std::string reason() {
  keep_reason();
  const std::string text = std::exchange(kept_reason, "");
  return text.empty() ? "HDF5 gives no reason" : text;
}

Handle access() {
  Handle properties(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
#if H5_VERSION_GE(1, 10, 7)
  H5Pset_file_locking(properties, false, true);
#endif
  return properties;
}

// Called as functions, neither call may be optimised away.
bool can_open() {
  constexpr std::size_t cache_bytes = std::size_t{2} << 20;  // with what else opening takes, generously
  void* const memory = ::operator new(cache_bytes, std::nothrow);
  ::operator delete(memory);
  return memory != nullptr;
}

void require_memory_to_open() {
  if (!can_open()) throw std::bad_alloc();
}

Handle type_of(const DatasetLayout& layout) {
  if (!layout.is_table())
    return {H5Tcopy(layout.number_type == CellType::int32 ? H5T_STD_I32LE : H5T_STD_I64LE), H5Tclose};
  Handle type(H5Tcreate(H5T_COMPOUND, layout.row_bytes()), H5Tclose);
  std::size_t offset = 0;
  for (const ColumnInfo& column : layout.columns) {
    check(H5Tinsert(type, column.name.c_str(), offset, type_of(column)),
          "add column '" + column.name + "' to '" + layout.path + "'");
    offset += column.width;
  }
  return type;
}

Handle create_dataset(hid_t file, const DatasetLayout& layout) {
  const Handle type = type_of(layout);
  const std::array<hsize_t, 2> shape{static_cast<hsize_t>(layout.rows_count), static_cast<hsize_t>(layout.width)};
  const int dimensions = layout.width == 0 ? 1 : 2;
  const Handle space(H5Screate_simple(dimensions, shape.data(), nullptr), H5Sclose);
  const Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_obj_track_times(creation, false);
  if (layout.chunk_rows > 0) {
    const std::array<hsize_t, 2> chunk{static_cast<hsize_t>(layout.chunk_rows), shape[1]};
    H5Pset_chunk(creation, dimensions, chunk.data());
    H5Pset_shuffle(creation);
    H5Pset_deflate(creation, 1);
  }
  const Handle link(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
  H5Pset_create_intermediate_group(link, 1);
  H5Pset_char_encoding(link, H5T_CSET_UTF8);
  Handle dataset(H5Dcreate2(file, layout.path.c_str(), type, space, link, creation, H5P_DEFAULT), H5Dclose);
  if (!dataset.good()) keep_reason();
  return dataset;
}

}  // namespace ccl::hdf5
