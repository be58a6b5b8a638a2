#include <algorithm>
#include <array>

#include "store/hdf5_handle.hpp"

namespace ccl {

#ifdef H5_HAVE_PARALLEL

namespace {

using hdf5::Handle;

// Rows per worker and round: keeps every MPI-IO request far below 2 GiB.
constexpr std::size_t round_bytes = std::size_t{64} << 20;

/// End of the round that starts at row `from`: at a chunk border, so that no chunk is filtered twice by one worker.
std::int64_t round_end(const DatasetLayout& layout, std::int64_t from, std::int64_t last) {
  const auto rows = static_cast<std::int64_t>(std::max<std::size_t>(1, round_bytes / layout.row_bytes()));
  std::int64_t end = from + rows;
  if (layout.chunk_rows > 0) end = (end + layout.chunk_rows - 1) / layout.chunk_rows * layout.chunk_rows;
  return std::min(end, last);
}

herr_t write_round(hid_t dataset, const DatasetLayout& layout, std::int64_t first, std::int64_t rows_count,
                   const std::byte* rows) {
  const int dimensions = layout.width == 0 ? 1 : 2;
  const auto width = static_cast<hsize_t>(layout.width);
  const std::array<hsize_t, 2> offset{static_cast<hsize_t>(first), 0};
  const std::array<hsize_t, 2> count{static_cast<hsize_t>(std::max<std::int64_t>(rows_count, 1)), width};
  const Handle file_space(H5Dget_space(dataset), H5Sclose);
  const Handle memory_space(H5Screate_simple(dimensions, count.data(), nullptr), H5Sclose);
  if (rows_count == 0) {
    H5Sselect_none(file_space);
    H5Sselect_none(memory_space);
  } else {
    H5Sselect_hyperslab(file_space, H5S_SELECT_SET, offset.data(), nullptr, count.data(), nullptr);
  }
  const Handle transfer(H5Pcreate(H5P_DATASET_XFER), H5Pclose);
  H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE);
  // The type in memory must equal the one in the file: a conversion would break the collective write.
  const Handle type = hdf5::type_of(layout);
  const std::byte nothing{};
  const herr_t status = H5Dwrite(dataset, type, memory_space, file_space, transfer, rows_count == 0 ? &nothing : rows);
  if (status < 0) hdf5::keep_reason();
  return status;
}

/// MPI-IO libraries lose errors of some writes (Open MPI's does on a full disk), so every worker looks at its rows.
bool reads_back(const std::string& file_path, const DatasetLayout& layout, std::int64_t first,
                std::span<const std::byte> rows) {
  const InputFile file(file_path);
  for (std::size_t at = 0; at < rows.size();) {
    const std::int64_t from = first + static_cast<std::int64_t>(at / layout.row_bytes());
    const std::int64_t last = from + static_cast<std::int64_t>((rows.size() - at) / layout.row_bytes());
    const Bytes stored = file.rows(layout, from, round_end(layout, from, last) - from);
    if (std::memcmp(stored.data(), rows.data() + at, stored.size()) != 0) return false;
    at += stored.size();
  }
  return true;
}

}  // namespace

bool can_write_together(const Comm& comm) { return comm.native_handle() != nullptr; }

void write_together(const std::string& file_path, const DatasetLayout& layout, std::int64_t first_row,
                    std::span<const std::byte> rows, const Comm& comm) {
  std::string why;
  // Every step is agreed on: a worker that stopped alone would leave the others waiting inside HDF5.
  const auto all_good = [&](bool good) {
    if (!good && why.empty()) why = hdf5::reason();
    return comm.min(good ? 1 : 0) == 1;
  };
  bool written = false;
  const bool can_open = hdf5::can_open();
  if (!can_open) why = "out of memory";
  if (all_good(can_open)) {
    const Handle access = hdf5::access();
    H5Pset_fapl_mpio(access, *static_cast<const MPI_Comm*>(comm.native_handle()), MPI_INFO_NULL);
    const hid_t file = H5Fopen(file_path.c_str(), H5F_ACC_RDWR, access);
    if (all_good(file >= 0)) {
      {
        const Handle dataset = hdf5::create_dataset(file, layout);
        written = all_good(dataset.good());
        const std::int64_t end = first_row + static_cast<std::int64_t>(rows.size() / layout.row_bytes());
        std::int64_t at = first_row;
        while (written && comm.max(end - at) > 0) {
          const std::int64_t stop = round_end(layout, at, end);
          const std::byte* from = rows.data() + static_cast<std::size_t>(at - first_row) * layout.row_bytes();
          written = all_good(write_round(dataset, layout, at, stop - at, from) >= 0);
          at = stop;
        }
      }
      written = all_good(H5Fclose(file) >= 0) && written;
    }
  }
  if (written) {
    bool same = false;
    try {
      same = reads_back(file_path, layout, first_row, rows);
    } catch (const FatalError&) {
    }
    if (!same) why = "the rows read back differ; is the disk full?";
  }
  together(comm, [&] {
    if (!why.empty()) throw FatalError(ExitCode::runtime_failure, "cannot write '" + layout.path + "' (" + why + ")");
  });
}

#else

bool can_write_together(const Comm&) { return false; }
void write_together(const std::string&, const DatasetLayout& layout, std::int64_t, std::span<const std::byte>,
                    const Comm&) {
  throw FatalError(ExitCode::runtime_failure, "cannot write '" + layout.path + "' (this HDF5 has no MPI)");
}

#endif

}  // namespace ccl
