#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>

#include "core/problems.hpp"
#include "store/results.hpp"
#include "store/sample_rows.hpp"
#include "store/write_table.hpp"
#include "support/mpi_world.hpp"

namespace ccl {
namespace {

using test::sample_table;
using test::world;

constexpr WriteRules small_chunks{
    .together_above_bytes = 1'000'000'000, .chunked_above_bytes = 100, .chunk_bytes = 400};
constexpr WriteRules always_together{.together_above_bytes = -1, .chunked_above_bytes = 100, .chunk_bytes = 400};
constexpr WriteRules whole_together{.together_above_bytes = -1};

/// Writes with `write` on all workers and hashes the file.
template <class Write>
std::string hash_of(const std::string& name, Write write) {
  std::unique_ptr<test::Folder> folder;
  std::unique_ptr<OutputFile> file;
  together(world(), [&] {
    if (!world().is_first()) return;
    folder = std::make_unique<test::Folder>(test::own("mpi_" + name));
    file = std::make_unique<OutputFile>(folder->file("a.h5"));
  });
  write(file.get());
  std::string hash;
  together(world(), [&] {
    if (!file) return;
    file->commit();
    hash = content_hash(folder->file("a.h5"));
  });
  return hash;
}

/// Ends of the workers' slices of `rows`: even, all on one worker, or growing with the worker (first ones empty).
std::vector<std::pair<std::int64_t, std::int64_t>> slices_of_mine(std::int64_t rows) {
  const std::int64_t workers = world().num_workers(), me = world().worker();
  const auto cut = [&](std::int64_t worker) { return rows * worker * worker * worker / (workers * workers * workers); };
  return {{rows * me / workers, rows * (me + 1) / workers},
          {me == workers - 1 ? 0 : rows, rows},
          {me == 0 ? 0 : rows, rows},
          {cut(me), cut(me + 1)}};
}

TEST(WriteTable, EveryWayOfWritingGivesTheSameContent) {
  for (const std::int64_t rows : {0, 1, 7, 64, 1000}) {
    const std::string alone = hash_of("alone", [&](OutputFile* file) {
      if (file != nullptr) write_table(*file, "/a/rows", sample_table(0, rows));
    });
    const std::string in_chunks = hash_of("chunks", [&](OutputFile* file) {
      if (file != nullptr) write_table(*file, "/a/rows", sample_table(0, rows), small_chunks);
    });
    EXPECT_EQ(in_chunks, alone) << rows;
    for (auto [first, end] : slices_of_mine(rows)) {
      if (first > end) first = end;
      for (const WriteRules& rules : {WriteRules{}, small_chunks, always_together, whole_together}) {
        const std::string shared = hash_of("shared", [&, from = first, to = end](OutputFile* file) {
          write_table(file, "/a/rows", sample_table(from, to), world(), rules);
        });
        EXPECT_EQ(shared, alone) << rows << " rows, " << rules.together_above_bytes << " " << rules.chunk_bytes;
      }
    }
  }
}

TEST(WriteTable, LargeRowsFillSeveralChunksPerWorker) {
  const std::int64_t rows = 40'000;
  const auto [first, end] = slices_of_mine(rows)[0];
  const std::string handed = hash_of("handed", [&, from = first, to = end](OutputFile* file) {
    write_table(file, "/rows", sample_table(from, to), world());
  });
  const std::string written = hash_of("written", [&, from = first, to = end](OutputFile* file) {
    write_table(file, "/rows", sample_table(from, to), world(), whole_together);
  });
  EXPECT_EQ(handed, written);
}

TEST(WriteMatrix, RowsFindTheirPlaceWhereverTheyCameFrom) {
  constexpr std::int64_t rows = 53, width = 9;
  const auto slice = [&](std::int64_t step) {  // every step-th row backwards, row 11 held by nobody
    ResultMatrix matrix{"/timeline/m", "a matrix", "ns", width, rows, {}, {}};
    for (std::int64_t row = rows - 1; row >= 0; --row) {
      if (row % step != world().worker() % step || row == 11) continue;
      matrix.row_numbers.push_back(row);
      for (std::int64_t i = 0; i < width; ++i) matrix.values.push_back(static_cast<std::int32_t>(row * 100 + i));
    }
    if (step == 1 && !world().is_first()) matrix.row_numbers.clear(), matrix.values.clear();
    return matrix;
  };
  std::vector<std::string> hashes;
  for (const std::int64_t step : {std::int64_t{1}, std::int64_t{world().num_workers()}})
    for (const WriteRules& rules : {WriteRules{}, small_chunks, always_together})
      hashes.push_back(hash_of("matrix", [&](OutputFile* file) { write_matrix(file, finish_matrix(slice(step), world(), rules), world(), rules); }));
  for (const std::string& hash : hashes) EXPECT_EQ(hash, hashes[0]);
}

TEST(WriteTable, AFailureOnWorkerZeroReachesAllWorkers) {
  // After the last other test: a smaller limit can not be lifted again by an ordinary user.
  signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit limit{5000, before.rlim_max};
  for (const WriteRules& rules : {WriteRules{}, small_chunks}) {
    std::unique_ptr<test::Folder> folder;
    std::unique_ptr<OutputFile> file;
    if (world().is_first()) {
      folder = std::make_unique<test::Folder>(test::own("mpi_full"));
      file = std::make_unique<OutputFile>(folder->file("a.h5"));
    }
    setrlimit(RLIMIT_FSIZE, &limit);
    const std::int64_t first = world().worker() * 3000;
    EXPECT_THROW(
        {
          write_table(file.get(), "/rows", sample_table(first, first + 3000), world(), rules);
          together(world(), [&] {
            if (file) file->commit();
          });
        },
        FatalError);
    file.reset();
    setrlimit(RLIMIT_FSIZE, &before);
    if (folder) {
      EXPECT_TRUE(folder->entries().empty());
    }
  }
}

}  // namespace
}  // namespace ccl
