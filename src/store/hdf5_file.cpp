#include "store/hdf5_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "store/hdf5_handle.hpp"
#include "store/plain_text.hpp"
#include "store/text_file.hpp"

namespace ccl {
namespace {

using hdf5::check;
using hdf5::Handle;

std::string folder_of(const std::string& path) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  return parent.empty() ? "." : parent.string();
}

/// A place where nothing may be is a bad request; a disk that is full or broken is none.
FatalError not_created(const std::string& target, int error) {
  const std::string what = "cannot write '" + target + "' (" + std::strerror(error) + ")";
  const bool failure = error == ENOSPC || error == EDQUOT || error == EIO || error == ENFILE || error == EMFILE || error == ENOMEM;
  if (failure) return {ExitCode::runtime_failure, what};
  return {ExitCode::bad_request, what + ". Choose another place with -o."};
}

void sync_to_disk(const std::string& path, const std::string& target) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const int status = descriptor < 0 ? -1 : fsync(descriptor);
  const int error = errno;
  if (descriptor >= 0) close(descriptor);
  // Some network file systems refuse fsync on folders; the data itself is safe by then.
  if (status < 0 && error != EINVAL && error != ENOTSUP)
    throw FatalError(ExitCode::runtime_failure, "cannot write '" + target + "' (" + std::strerror(error) + ")");
}

}  // namespace

std::size_t DatasetLayout::element_bytes() const {
  std::size_t bytes = 0;
  for (const ColumnInfo& column : columns) bytes += column.width;
  if (is_table()) return bytes;
  return number_type == CellType::int32 ? 4 : 8;
}

std::size_t DatasetLayout::row_bytes() const {
  return width == 0 ? element_bytes() : element_bytes() * static_cast<std::size_t>(width);
}

OutputFile::OutputFile(const std::string& target) : target_(target), temporary_(temporary_name(target)) {
  struct stat found {};
  if (target.empty() || (stat(target.c_str(), &found) == 0 && !S_ISREG(found.st_mode)))
    throw FatalError(ExitCode::bad_request,
                     "cannot write '" + target + "' (not a regular file). Choose another place with -o.");
  hdf5::require_memory_to_open();
  // Ours first: the system says what is wrong, and what HDF5 begins and cannot fill is known to be there.
  const int begun = open(temporary_path().c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (begun < 0) throw not_created(target, errno);
  close(begun);
  const Handle access = hdf5::access();
  file_ = H5Fcreate(temporary_path().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access);
  if (file_ >= 0) return;
  const std::string why = hdf5::reason();
  unlink(temporary_path().c_str());
  throw FatalError(ExitCode::runtime_failure, "cannot write '" + target + "' (" + why + ")");
}

OutputFile::~OutputFile() {
  if (committed_) return;
  // Its blocks are free at once. HDF5 is not told: behind a write that failed it keeps data sets that are half closed, and
  // (1.14) crashes when the file with them is closed. What it holds goes with the process.
  if (truncate(temporary_path().c_str(), 0) == 0 || errno != ENOENT) unlink(temporary_path().c_str());
}

std::int64_t OutputFile::object(const std::string& path, const std::string& what) {
  if (object_ < 0 || object_path_ != path) keep_open(path, check(H5Oopen(file_, path.c_str(), H5P_DEFAULT), what));
  return object_;
}

void OutputFile::keep_open(const std::string& path, std::int64_t object) {
  close_object();
  object_ = object;
  object_path_ = path;
}

void OutputFile::close_object() {
  if (object_ >= 0) check(H5Oclose(std::exchange(object_, -1)), "write '" + object_path_ + "' into '" + target_ + "'");
}

void OutputFile::group(const std::string& path) {
  std::size_t end = 0;
  while (end != std::string::npos) {
    end = path.find('/', end + 1);
    const std::string part = path.substr(0, end);
    if (part == "/" || H5Lexists(file_, part.c_str(), H5P_DEFAULT) > 0) continue;
    const Handle group(H5Gcreate2(file_, part.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
    check(hid_t{group}, "write '" + part + "' into '" + target_ + "'");
  }
}

void OutputFile::attribute(const std::string& object_path, const std::string& name, const AttributeValue& value) {
  const std::string what = "write attribute '" + name + "' of '" + object_path + "' into '" + target_ + "'";
  const hid_t owner = object(object_path, what);
  const Handle space(H5Screate(H5S_SCALAR), H5Sclose);
  const auto write = [&](hid_t type, const void* data) {
    const Handle attribute(H5Acreate2(owner, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
    check(hid_t{attribute}, what);
    check(H5Awrite(attribute, type, data), what);
  };
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return write(H5T_STD_I64LE, integer);
  if (const auto* number = std::get_if<double>(&value)) return write(H5T_IEEE_F64LE, number);
  // Variable length: h5py gives str for it, and it may be longer than the 64 KiB of an object header.
  const std::string text = without_zeros(valid_utf8(std::get<std::string>(value)));
  const char* at = text.c_str();
  const Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type, H5T_VARIABLE);
  H5Tset_cset(type, H5T_CSET_UTF8);
  write(type, &at);
}

void OutputFile::create(const DatasetLayout& layout) {
  Handle dataset = hdf5::create_dataset(file_, layout);
  check(hid_t{dataset}, "write '" + layout.path + "' into '" + target_ + "'");
  keep_open(layout.path, dataset.release());
}

void OutputFile::write_whole(const DatasetLayout& layout, std::span<const std::byte> rows) {
  if (rows.empty()) return;
  const std::string what = "write '" + layout.path + "' into '" + target_ + "'";
  const hid_t dataset = object(layout.path, what);
  check(H5Dwrite(dataset, hdf5::type_of(layout), H5S_ALL, H5S_ALL, H5P_DEFAULT, rows.data()), what);
}

void OutputFile::place_chunk(const DatasetLayout& layout, std::int64_t chunk, std::span<const std::byte> filtered) {
  const std::string what = "write '" + layout.path + "' into '" + target_ + "'";
  const hid_t dataset = object(layout.path, what);
  const std::array<hsize_t, 2> offset{static_cast<hsize_t>(chunk * layout.chunk_rows), 0};
  check(H5Dwrite_chunk(dataset, H5P_DEFAULT, 0, offset.data(), filtered.size(), filtered.data()), what);
}

void OutputFile::release() {
  close_object();
  const hid_t file = std::exchange(file_, -1);
  check(H5Fclose(file), "write '" + target_ + "'");
}

void OutputFile::reopen() {
  hdf5::require_memory_to_open();
  const Handle access = hdf5::access();
  file_ = check(H5Fopen(temporary_path().c_str(), H5F_ACC_RDWR, access), "write '" + target_ + "'");
}

std::int64_t OutputFile::free_bytes() const {
  struct statvfs system {};
  if (statvfs(folder_of(target_).c_str(), &system) != 0) return INT64_MAX;
  return static_cast<std::int64_t>(system.f_bavail) * static_cast<std::int64_t>(system.f_frsize);
}

void OutputFile::commit() {
  release();
  sync_to_disk(temporary_path(), target_);
  if (std::rename(temporary_path().c_str(), target_.c_str()) != 0)
    throw FatalError(ExitCode::runtime_failure, "cannot write '" + target_ + "' (" + std::strerror(errno) + ")");
  committed_ = true;
  sync_to_disk(folder_of(target_), target_);
}

}  // namespace ccl
