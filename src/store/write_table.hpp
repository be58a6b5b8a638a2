// Datasets whose rows lie on several workers. Every worker calls with its consecutive slice (worker order = row order).
// Up to a threshold the workers finish their own chunks and worker 0 places them; above, all write together through
// parallel HDF5. Both give the same content.
#pragma once
#include <cstdint>
#include <string>

#include "comm/comm.hpp"
#include "core/result_table.hpp"
#include "metrics/metric.hpp"
#include "store/hdf5_file.hpp"

namespace ccl {

struct WriteRules {
  std::int64_t together_above_bytes = 1'000'000'000;  // one write by all workers above this
  std::int64_t chunked_above_bytes = 64 << 10;        // smaller datasets are stored whole
  std::int64_t chunk_bytes = 512 << 10;               // below HDF5's default chunk cache of 1 MiB
};

/// Collective. file is the open file on worker 0 and null elsewhere. Columns must agree but for text widths, which
/// become the largest of all workers. Also writes the attributes description, columns and absent_value.
/// Throws the same FatalError on all workers. Cost: boundary rows to one neighbour, finished chunks to worker 0.
void write_table(OutputFile* file, const std::string& path, ResultTable slice, const Comm& comm,
                 const WriteRules& rules = {});

/// A worker's rows of a dataset on their way into the file.
struct DatasetRows {
  DatasetLayout layout;
  Bytes bytes;  // the chunks that start on this worker, numbered and finished; raw: its rows as they are
  std::int64_t first_row = 0;
  bool raw = false;  // small, or large enough to be written by all workers together
  std::int64_t all_bytes() const { return layout.rows_count * static_cast<std::int64_t>(layout.row_bytes()); }
};
struct FinishedMatrix {
  DatasetRows rows;
  std::string description, unit;
};
/// Collective, long before there is a file: a finished matrix takes a fraction of the memory. Rows may lie anywhere and in any
/// order; row_numbers say where they belong; rows that nobody has are -1.
FinishedMatrix finish_matrix(ResultMatrix slice, const Comm& comm, const WriteRules& rules = {});
/// Collective.
void write_matrix(OutputFile* file, const FinishedMatrix& matrix, const Comm& comm, const WriteRules& rules = {});

/// A table that another worker than 0 holds whole: what worker 0 needs to write it, its chunks finished.
void pack_finished(const std::string& path, ResultTable table, ByteWriter& out, const WriteRules& rules = {});
/// Writes the next of these on worker 0 and returns its path.
std::string write_finished(OutputFile& file, ByteReader& in);

/// Worker 0 alone: a table or vector that it holds whole.
void write_table(OutputFile& file, const std::string& path, ResultTable table, const WriteRules& rules = {});
void write_vector(OutputFile& file, const ResultVector& vector);

}  // namespace ccl
