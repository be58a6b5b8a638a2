#include "store/write_table.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "core/pack_columns.hpp"
#include "store/chunks.hpp"
#include "store/json_text.hpp"
#include "store/plain_text.hpp"

namespace ccl {
namespace {

/// Which rows of a dataset every worker holds.
struct Slices {
  std::vector<std::int64_t> first;  // by worker, and one past the end
  std::size_t me = 0;
  std::int64_t mine() const { return first[me]; }
  std::int64_t total() const { return first.back(); }
  std::size_t holder(std::int64_t row) const {
    return static_cast<std::size_t>(std::upper_bound(first.begin(), first.end(), row) - first.begin()) - 1;
  }
};

Slices slices_of(std::int64_t rows_count, const Comm& comm) {
  Slices slices{{0}, static_cast<std::size_t>(comm.worker())};
  for (const std::int64_t count : gather_all_rows(comm, std::vector<std::int64_t>{rows_count}))
    slices.first.push_back(slices.first.back() + count);
  return slices;
}

std::size_t chunk_bytes(const DatasetLayout& layout) {
  return static_cast<std::size_t>(layout.chunk_rows) * layout.row_bytes();
}

/// Rows per chunk; 0 = stored whole.
std::int64_t chunk_rows(const DatasetLayout& layout, const WriteRules& rules) {
  const auto row_bytes = static_cast<std::int64_t>(layout.row_bytes());
  if (layout.rows_count * row_bytes <= rules.chunked_above_bytes) return 0;
  return std::clamp<std::int64_t>(rules.chunk_bytes / row_bytes, 1, layout.rows_count);
}

/// The rows of the chunks that start on one worker.
struct AlignedRows {
  std::int64_t first_row = 0;
  std::span<const std::byte> whole;  // chunks, among its own rows
  Bytes last;                        // what begins a chunk, and what others had of it
};

/// Moves the rows at the start of my slice to the worker whose row starts their chunk.
AlignedRows align_to_chunks(const DatasetLayout& layout, std::span<const std::byte> rows, const Slices& slices, const Comm& comm) {
  const std::int64_t count = slices.first[slices.me + 1] - slices.mine();
  const std::int64_t inside = slices.mine() % layout.chunk_rows;  // rows of my first chunk that lie before me
  const std::int64_t lead = inside == 0 ? 0 : std::min(count, layout.chunk_rows - inside);
  const auto lead_bytes = static_cast<std::size_t>(lead) * layout.row_bytes();
  std::vector<Bytes> out(static_cast<std::size_t>(comm.num_workers()));
  if (lead > 0)
    out[slices.holder(slices.mine() - inside)].assign(rows.begin(),
                                                      rows.begin() + static_cast<std::ptrdiff_t>(lead_bytes));
  rows = rows.subspan(lead_bytes);
  const std::size_t whole_bytes = rows.size() - rows.size() % chunk_bytes(layout);
  const std::span<const std::byte> rest = rows.subspan(whole_bytes);
  AlignedRows aligned{slices.mine() + lead, rows.first(whole_bytes), Bytes(rest.begin(), rest.end())};
  for (const Bytes& part : comm.exchange(std::move(out))) aligned.last.insert(aligned.last.end(), part.begin(), part.end());
  return aligned;
}

/// Their number, then for each its own number and its bytes.
void finish_chunks(const DatasetLayout& layout, const AlignedRows& rows, ByteWriter& out) {
  const std::size_t bytes = chunk_bytes(layout), whole = rows.whole.size() / bytes;
  out.value<std::uint64_t>(whole + (rows.last.empty() ? 0 : 1));
  if (whole == 0 && rows.last.empty()) return;
  ChunkFinisher finisher(layout.element_bytes(), bytes);
  std::int64_t chunk = rows.first_row / layout.chunk_rows;
  const auto finish = [&](std::span<const std::byte> of_chunk) {
    out.value(chunk++);
    out.array(finisher.finish(of_chunk));
  };
  for (std::size_t i = 0; i < whole; ++i) finish(rows.whole.subspan(i * bytes, bytes));
  if (!rows.last.empty()) finish(rows.last);
}
/// All rows of a dataset.
void finish_chunks(const DatasetLayout& layout, std::span<const std::byte> rows, ByteWriter& out) {
  const std::size_t whole_bytes = rows.size() - rows.size() % chunk_bytes(layout);
  const std::span<const std::byte> rest = rows.subspan(whole_bytes);
  finish_chunks(layout, {0, rows.first(whole_bytes), Bytes(rest.begin(), rest.end())}, out);
}

void place(OutputFile& file, const DatasetLayout& layout, ByteReader& in) {
  for (auto left = in.value<std::uint64_t>(); left > 0; --left) {
    const auto chunk = in.value<std::int64_t>();
    file.place_chunk(layout, chunk, in.bytes());
  }
}
void place(OutputFile& file, const DatasetLayout& layout, const Bytes& parcel) {
  ByteReader in(parcel);
  place(file, layout, in);
}

/// Worker 0 takes everyone's parcel in worker order. A failure there must not stop the taking: others wait to send.
template <class Take>
void hand_over(const Bytes& mine, const Comm& comm, Take take) {
  std::exception_ptr failure;
  const auto attempt = [&](const Bytes& parcel) {
    if (failure) return;
    try {
      take(parcel);
    } catch (...) {
      failure = std::current_exception();
    }
  };
  if (comm.is_first()) {
    attempt(mine);
    for (int from = 1; from < comm.num_workers(); ++from) attempt(comm.receive(from));
  } else {
    comm.send(0, mine);
  }
  together(comm, [&] {
    if (failure) std::rethrow_exception(failure);
  });
}

/// Large datasets are written by all workers if parallel HDF5 is there and the disk has room for the raw rows: MPI-IO
/// on a full disk may hang, while worker 0 alone fails cleanly.
bool shall_write_together(const OutputFile* file, std::int64_t bytes, const Comm& comm, const WriteRules& rules) {
  if (bytes <= rules.together_above_bytes || !can_write_together(comm)) return false;
  return comm.min(file == nullptr || file->free_bytes() / 10 * 9 > bytes ? 1 : 0) == 1;
}

/// Collective. may_stay_raw: where so many that all workers may write them together.
DatasetRows finish_rows(DatasetLayout layout, Bytes rows, const Comm& comm, const WriteRules& rules, bool may_stay_raw) {
  const Slices slices = slices_of(static_cast<std::int64_t>(rows.size() / layout.row_bytes()), comm);
  layout.rows_count = slices.total();
  layout.chunk_rows = chunk_rows(layout, rules);
  DatasetRows out{std::move(layout), std::move(rows), slices.mine(), false};
  out.raw = out.layout.chunk_rows == 0 || (may_stay_raw && out.all_bytes() > rules.together_above_bytes);
  if (out.raw) return out;
  const AlignedRows aligned = align_to_chunks(out.layout, out.bytes, slices, comm);
  together(comm, [&] {
    ByteWriter finished;
    finish_chunks(out.layout, aligned, finished);
    out.bytes = finished.take();
  });
  return out;
}

void write_rows(OutputFile* file, const DatasetRows& rows, const Comm& comm, const WriteRules& rules) {
  if (rows.raw && shall_write_together(file, rows.all_bytes(), comm, rules)) {
    Bytes name;
    together(comm, [&] {
      if (file == nullptr) return;
      file->release();
      const auto* at = reinterpret_cast<const std::byte*>(file->temporary_path().data());
      name.assign(at, at + file->temporary_path().size());
    });
    name = comm.broadcast(std::move(name));
    write_together({reinterpret_cast<const char*>(name.data()), name.size()}, rows.layout, rows.first_row, rows.bytes, comm);
    return together(comm, [&] {
      if (file != nullptr) file->reopen();
    });
  }
  if (rows.raw && rows.layout.chunk_rows != 0) return write_rows(file, finish_rows(rows.layout, rows.bytes, comm, rules, false), comm, rules);
  together(comm, [&] {
    if (file != nullptr) file->create(rows.layout);
  });
  if (!rows.raw) return hand_over(rows.bytes, comm, [&](const Bytes& parcel) { place(*file, rows.layout, parcel); });
  Bytes whole;
  hand_over(rows.bytes, comm, [&](const Bytes& parcel) {
    whole.insert(whole.end(), parcel.begin(), parcel.end());
    if (whole.size() == static_cast<std::size_t>(rows.all_bytes())) file->write_whole(rows.layout, whole);
  });
}

void agree_on_widths(ResultTable& slice, const Comm& comm) {
  std::vector<std::uint32_t> widths;
  for (const ColumnInfo& column : slice.columns) widths.push_back(column.width);
  const std::vector<std::uint32_t> all = gather_all_rows(comm, widths);
  if (all.size() != widths.size() * static_cast<std::size_t>(comm.num_workers()))
    throw std::logic_error("table '" + slice.name + "' has different columns on different workers");
  for (std::size_t i = 0; i < all.size(); ++i) widths[i % widths.size()] = std::max(widths[i % widths.size()], all[i]);
  widen_text(slice, widths);
}

void make_texts_valid(ResultTable& table) {
  std::vector<std::pair<std::size_t, std::size_t>> texts;  // where in a row, and how long
  std::size_t row_bytes = 0;
  for (const ColumnInfo& column : table.columns) {
    if (column.type == CellType::text) texts.emplace_back(row_bytes, column.width);
    row_bytes += column.width;
  }
  if (texts.empty()) return;
  auto* row = reinterpret_cast<char*>(table.packed.data());
  for (std::int64_t left = table.rows_count; left > 0; --left, row += row_bytes)
    for (const auto& [offset, width] : texts) make_valid_utf8({row + offset, width});
}

void describe_table(OutputFile& file, const std::string& path, const ResultTable& table) {
  JsonText columns, absent;
  columns.open('{');
  absent.open('{');
  for (const ColumnInfo& column : table.columns) {
    columns.key(column.name).open('{');
    columns.key("unit").text(column.unit).key("description").text(column.description).close('}');
    if (column.absent_value) absent.key(column.name).integer(*column.absent_value);
  }
  file.attribute(path, "description", table.description);
  file.attribute(path, "columns", columns.close('}').take());
  file.attribute(path, "absent_value", absent.close('}').take());
}

}  // namespace

void write_table(OutputFile* file, const std::string& path, ResultTable slice, const Comm& comm,
                 const WriteRules& rules) {
  agree_on_widths(slice, comm);
  make_texts_valid(slice);
  write_rows(file, finish_rows({.path = path, .columns = slice.columns}, std::move(slice.packed), comm, rules, true), comm, rules);
  together(comm, [&] {
    if (file != nullptr) describe_table(*file, path, slice);
  });
}

FinishedMatrix finish_matrix(ResultMatrix slice, const Comm& comm, const WriteRules& rules) {
  const auto workers = static_cast<std::int64_t>(comm.num_workers());
  const auto first_row = [&](std::int64_t worker) { return slice.rows_total * worker / workers; };
  const auto width = static_cast<std::size_t>(slice.columns_count);
  const std::int64_t mine = first_row(comm.worker());
  // Cells of rows that nobody has are −1: all their bits are set.
  Bytes cells(static_cast<std::size_t>(first_row(comm.worker() + 1) - mine) * width * sizeof(std::int32_t), std::byte{0xff});
  const auto take = [&](std::int64_t row, std::span<const std::byte> of) {
    std::ranges::copy(of, cells.begin() + (row - mine) * static_cast<std::ptrdiff_t>(of.size()));
  };
  std::vector<ByteWriter> out(static_cast<std::size_t>(workers));
  for (std::size_t i = 0; i < slice.row_numbers.size(); ++i) {
    const std::int64_t row = slice.row_numbers[i];
    const auto of = std::as_bytes(std::span(slice.values).subspan(i * width, width));
    std::int64_t owner = row * workers / std::max<std::int64_t>(slice.rows_total, 1);
    while (first_row(owner + 1) <= row) ++owner;
    if (owner == comm.worker()) {
      take(row, of);
      continue;
    }
    ByteWriter& parcel = out[static_cast<std::size_t>(owner)];
    parcel.value(row);
    parcel.array(of);
  }
  slice.values = {};
  std::vector<Bytes> parcels;
  for (ByteWriter& parcel : out) parcels.push_back(parcel.take());
  for (const Bytes& parcel : comm.exchange(std::move(parcels)))
    for (ByteReader in(parcel); !in.at_end();) {
      const auto row = in.value<std::int64_t>();
      take(row, in.bytes());
    }
  DatasetLayout layout{.path = slice.path, .number_type = CellType::int32, .width = slice.columns_count};
  return {finish_rows(std::move(layout), std::move(cells), comm, rules, true), slice.description, slice.unit};
}

void write_matrix(OutputFile* file, const FinishedMatrix& matrix, const Comm& comm, const WriteRules& rules) {
  const std::string& path = matrix.rows.layout.path;
  write_rows(file, matrix.rows, comm, rules);
  together(comm, [&] {
    if (file == nullptr) return;
    file->attribute(path, "description", matrix.description);
    file->attribute(path, "unit", matrix.unit);
    file->attribute(path, "absent_value", std::int64_t{-1});
  });
}

void pack_finished(const std::string& path, ResultTable table, ByteWriter& out, const WriteRules& rules) {
  make_texts_valid(table);
  DatasetLayout layout{.path = path, .columns = table.columns, .rows_count = table.rows_count};
  layout.chunk_rows = chunk_rows(layout, rules);
  out.text(path);
  out.text(table.description);
  out.value(table.rows_count);
  out.value(layout.chunk_rows);
  pack_columns(table.columns, out);
  if (layout.chunk_rows == 0) out.array(table.packed);
  else finish_chunks(layout, table.packed, out);
}

std::string write_finished(OutputFile& file, ByteReader& in) {
  ResultTable table;
  DatasetLayout layout{.path = in.text()};
  table.description = in.text();
  layout.rows_count = in.value<std::int64_t>();
  layout.chunk_rows = in.value<std::int64_t>();
  table.columns = unpack_columns(in);
  layout.columns = table.columns;
  file.create(layout);
  if (layout.chunk_rows == 0) file.write_whole(layout, in.bytes());
  else place(file, layout, in);
  describe_table(file, layout.path, table);
  return layout.path;
}

void write_table(OutputFile& file, const std::string& path, ResultTable table, const WriteRules& rules) {
  make_texts_valid(table);
  DatasetLayout layout{.path = path, .columns = table.columns, .rows_count = table.rows_count};
  layout.chunk_rows = chunk_rows(layout, rules);
  file.create(layout);
  if (layout.chunk_rows == 0) {
    file.write_whole(layout, table.packed);
  } else {
    ByteWriter finished;
    finish_chunks(layout, table.packed, finished);
    place(file, layout, finished.take());
  }
  describe_table(file, path, table);
}

void write_vector(OutputFile& file, const ResultVector& vector) {
  const DatasetLayout layout{.path = vector.path, .rows_count = static_cast<std::int64_t>(vector.values.size())};
  file.create(layout);
  file.write_whole(layout, std::as_bytes(std::span<const std::int64_t>(vector.values)));
  file.attribute(vector.path, "description", vector.description);
  file.attribute(vector.path, "unit", vector.unit);
}

}  // namespace ccl
