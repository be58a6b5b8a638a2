// HDF5 handles that close themselves, and HDF5's error stack as one line. Included by the HDF5 sources only.
#pragma once
#include <hdf5.h>

#include <string>
#include <utility>

#include "core/problems.hpp"
#include "store/hdf5_file.hpp"

namespace ccl::hdf5 {

class Handle {
 public:
  using Close = herr_t (*)(hid_t);
  Handle(hid_t id, Close close) : id_(id), close_(close) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Handle& operator=(Handle&&) = delete;
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  operator hid_t() const { return id_; }
  bool good() const { return id_ >= 0; }
  /// For someone else to close.
  hid_t release() { return std::exchange(id_, -1); }

 private:
  hid_t id_;
  Close close_;
};

/// What HDF5 says about the call that just failed: the system's message if there is one, else the innermost line.
std::string reason();
/// Keeps the reason of a failed call for a later reason(): closing any handle in between wipes HDF5's own record.
void keep_reason();
/// File access properties: no file locks (they fail on network file systems, and the name is ours alone).
Handle access();

/// Whether there is the memory that HDF5 takes to open a file. Ask first: HDF5 (1.10) does not fail for want of it, it
/// crashes (H5AC_create looks into the metadata cache, one piece of 0.5 MB, that it did not get).
bool can_open();
/// Throws std::bad_alloc where there is not.
void require_memory_to_open();

/// Throws FatalError(exit_code, "cannot <what> (<reason>)") if status is negative; else returns it.
template <class Status>
Status check(Status status, const std::string& what, ExitCode exit_code = ExitCode::runtime_failure) {
  if (status < 0) throw FatalError(exit_code, "cannot " + what + " (" + reason() + ")");
  return status;
}

Handle type_of(const DatasetLayout& layout);
/// New dataset with its parents; −1 on failure, so that a collective caller can agree first.
Handle create_dataset(hid_t file, const DatasetLayout& layout);

}  // namespace ccl::hdf5
