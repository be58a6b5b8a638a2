#include <algorithm>
#include <array>

#include "core/file_trouble.hpp"
#include "store/hdf5_handle.hpp"

namespace ccl {
namespace {

using hdf5::Handle;

template <class Status>
Status readable(Status status, const std::string& file, const std::string& path) {
  return hdf5::check(status, "read '" + path + "' of '" + file + "'", ExitCode::bad_request);
}

herr_t collect_link(hid_t, const char* name, const H5L_info_t*, void* out) {
  static_cast<std::vector<std::string>*>(out)->emplace_back(name);
  return 0;
}

herr_t collect_attribute(hid_t, const char* name, const H5A_info_t*, void* out) {
  static_cast<std::vector<std::string>*>(out)->emplace_back(name);
  return 0;
}

bool is_hdf5(const std::string& path, [[maybe_unused]] hid_t access) {
#if H5_VERSION_GE(1, 12, 0)
  return H5Fis_accessible(path.c_str(), access) > 0;
#else
  return H5Fis_hdf5(path.c_str()) > 0;
#endif
}

std::vector<std::int64_t> shape_of(hid_t dataset) {
  const Handle space(H5Dget_space(dataset), H5Sclose);
  std::array<hsize_t, 2> shape{};
  const int dimensions = H5Sget_simple_extent_ndims(space);
  if (dimensions < 1 || dimensions > 2) return {};
  H5Sget_simple_extent_dims(space, shape.data(), nullptr);
  return {shape.begin(), shape.begin() + dimensions};
}

AttributeValue value_of(hid_t attribute) {
  const Handle type(H5Aget_type(attribute), H5Tclose);
  const Handle space(H5Aget_space(attribute), H5Sclose);
  if (H5Sget_simple_extent_npoints(space) != 1) return std::string();  // not one of ours
  if (H5Tget_class(type) == H5T_INTEGER) {
    std::int64_t value = 0;
    H5Aread(attribute, H5T_NATIVE_INT64, &value);
    return value;
  }
  if (H5Tget_class(type) == H5T_FLOAT) {
    double value = 0;
    H5Aread(attribute, H5T_NATIVE_DOUBLE, &value);
    return value;
  }
  std::string text;
  char* at = nullptr;
  if (H5Tis_variable_str(type) > 0 && H5Aread(attribute, type, &at) >= 0 && at != nullptr) {
    text = at;
    H5free_memory(at);
  }
  return text;
}

ColumnInfo column_of(hid_t table, unsigned number) {
  const Handle type(H5Tget_member_type(table, number), H5Tclose);
  char* name = H5Tget_member_name(table, number);
  ColumnInfo column;
  column.name = name;
  H5free_memory(name);
  column.width = static_cast<std::uint32_t>(H5Tget_size(type));
  switch (H5Tget_class(type)) {
    case H5T_INTEGER: column.type = column.width == 4 ? CellType::int32 : CellType::int64; break;
    case H5T_FLOAT: column.type = CellType::float64; break;
    case H5T_ENUM: column.type = CellType::boolean; break;
    default: column.type = CellType::text;
  }
  return column;
}

}  // namespace

InputFile::InputFile(const std::string& path) : path_(path) {
  if (const std::string trouble = file_trouble(path); !trouble.empty())
    throw FatalError(ExitCode::bad_request, "cannot read '" + path + "' (" + trouble + ")");
  hdf5::require_memory_to_open();
  const Handle access = hdf5::access();
  if (!is_hdf5(path, access)) throw FatalError(ExitCode::bad_request, "cannot read '" + path + "' (it is no HDF5 file)");
  file_ = hdf5::check(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access), "read '" + path + "'", ExitCode::bad_request);
}

InputFile::~InputFile() { H5Fclose(file_); }

std::vector<StoredObject> InputFile::objects() const {
  std::vector<std::string> names;
  readable(H5Lvisit(file_, H5_INDEX_NAME, H5_ITER_INC, collect_link, &names), path_, "/");
  std::vector<StoredObject> all{{"/", true, {}}};
  for (const std::string& name : names) {
    StoredObject object{"/" + name, false, {}};
    const Handle opened(H5Oopen(file_, object.path.c_str(), H5P_DEFAULT), H5Oclose);
    readable(hid_t{opened}, path_, object.path);
    object.is_group = H5Iget_type(opened) == H5I_GROUP;
    if (!object.is_group) object.shape = shape_of(opened);
    all.push_back(std::move(object));
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return all;
}

bool InputFile::exists(const std::string& path) const {
  std::size_t end = 0;
  while (end != std::string::npos) {
    end = path.find('/', end + 1);
    if (path != "/" && H5Lexists(file_, path.substr(0, end).c_str(), H5P_DEFAULT) <= 0) return false;
  }
  return true;
}

std::vector<NamedAttribute> InputFile::attributes(const std::string& object_path) const {
  const Handle object(H5Oopen(file_, object_path.c_str(), H5P_DEFAULT), H5Oclose);
  readable(hid_t{object}, path_, object_path);
  std::vector<std::string> names;
  readable(H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, nullptr, collect_attribute, &names), path_, object_path);
  std::sort(names.begin(), names.end());
  std::vector<NamedAttribute> all;
  for (const std::string& name : names) {
    const Handle attribute(H5Aopen(object, name.c_str(), H5P_DEFAULT), H5Aclose);
    readable(hid_t{attribute}, path_, object_path);
    all.emplace_back(name, value_of(attribute));
  }
  return all;
}

DatasetLayout InputFile::layout(const std::string& path) const {
  const Handle dataset(H5Dopen2(file_, path.c_str(), H5P_DEFAULT), H5Dclose);
  readable(hid_t{dataset}, path_, path);
  const Handle type(H5Dget_type(dataset), H5Tclose);
  DatasetLayout layout;
  layout.path = path;
  const std::vector<std::int64_t> shape = shape_of(dataset);
  const bool table = H5Tget_class(type) == H5T_COMPOUND;
  if (shape.empty() || (!table && H5Tget_class(type) != H5T_INTEGER))
    throw FatalError(ExitCode::bad_request,
                     "cannot read '" + path + "' of '" + path_ + "' (not written by this program)");
  layout.rows_count = shape[0];
  if (shape.size() == 2) layout.width = shape[1];
  if (table) {
    for (unsigned i = 0; i < static_cast<unsigned>(H5Tget_nmembers(type)); ++i)
      layout.columns.push_back(column_of(type, i));
  } else if (H5Tget_size(type) == 4) {
    layout.number_type = CellType::int32;
  }
  return layout;
}

Bytes InputFile::rows(const DatasetLayout& layout, std::int64_t first, std::int64_t rows_count) const {
  Bytes out(static_cast<std::size_t>(rows_count) * layout.row_bytes());
  if (out.empty()) return out;
  const Handle dataset(H5Dopen2(file_, layout.path.c_str(), H5P_DEFAULT), H5Dclose);
  readable(hid_t{dataset}, path_, layout.path);
  const int dimensions = layout.width == 0 ? 1 : 2;
  const std::array<hsize_t, 2> offset{static_cast<hsize_t>(first), 0};
  const std::array<hsize_t, 2> count{static_cast<hsize_t>(rows_count), static_cast<hsize_t>(layout.width)};
  const Handle file_space(H5Dget_space(dataset), H5Sclose);
  H5Sselect_hyperslab(file_space, H5S_SELECT_SET, offset.data(), nullptr, count.data(), nullptr);
  const Handle memory_space(H5Screate_simple(dimensions, count.data(), nullptr), H5Sclose);
  // The file's own type as memory type: rows come back byte for byte as they were packed.
  readable(H5Dread(dataset, hdf5::type_of(layout), memory_space, file_space, H5P_DEFAULT, out.data()), path_,
           layout.path);
  return out;
}

ResultTable InputFile::table(const std::string& path) const {
  const DatasetLayout shape = layout(path);
  ResultTable table;
  table.name = path.substr(path.rfind('/') + 1);
  table.columns = shape.columns;
  table.rows_count = shape.rows_count;
  table.packed = rows(shape, 0, shape.rows_count);
  return table;
}

}  // namespace ccl
