#include <gtest/gtest.h>

#include "store/finish_matrices.hpp"
#include "store/hdf5_file.hpp"
#include "store/sample_results.hpp"
#include "support/mpi_world.hpp"

namespace ccl {
namespace {

using test::world;

constexpr int instances = 300;

/// Share `share` of `shares` of the sample's collectives and timeline; none if share is negative.
test::Run run_with_share(int share, int shares) {
  test::Run run = test::sample_run(0, 1, instances);
  run.collectives = share < 0 ? MatchedCollectives() : test::sample_collectives(share, shares, instances);
  return run;
}

/// Writes the sample with this worker's share; worker 0 looks at the file.
template <class Look>
void write_shared(int share, int shares, Look look) {
  std::unique_ptr<test::Folder> folder;
  test::Run run = run_with_share(share, shares);
  if (world().is_first()) {
    folder = std::make_unique<test::Folder>(test::own("results"));
    run.config.output.hdf5 = folder->file("a.h5");
  }
  Results results = run.results();
  std::vector<ResultMatrix> slices;
  if (share >= 0) slices = {test::sample_matrix(share, shares)};
  results.matrices = finish_matrices(std::move(slices), world());
  if (world().is_first()) results.metrics = {test::sample_metric()};
  write_results(results, world());
  if (folder) look(folder->file("a.h5"));
}

TEST(WriteResultsTogether, ContentDoesNotDependOnWhoHoldsWhat) {
  const int me = world().worker(), workers = world().num_workers();
  std::string all_on_first;
  write_shared(world().is_first() ? 0 : -1, 1, [&](const std::string& path) { all_on_first = content_hash(path); });
  for (const int turn : {0, 1, 2})
    write_shared((me + turn) % workers, workers,
                 [&](const std::string& path) { EXPECT_EQ(content_hash(path), all_on_first) << "turned by " << turn; });
}

// Reports are made by any worker, and tables stay with it until they are written.
TEST(WriteResultsTogether, TablesOfAMetricMayLieOnAnyWorker) {
  const auto hash_with_owner = [](int owner) {
    std::unique_ptr<test::Folder> folder;
    test::Run run = run_with_share(world().is_first() ? 0 : -1, 1);
    if (world().is_first()) {
      folder = std::make_unique<test::Folder>(test::own("results"));
      run.config.output.hdf5 = folder->file("a.h5");
    }
    Results results = run.results();
    results.metrics = {test::sample_metric()};
    MetricResult& metric = results.metrics.front();
    metric.tables.push_back(test::sample_table(0, 20'000, "long"));  // in chunks
    metric.report.extra_tables.push_back(test::sample_table(0, 0, "empty"));
    if (world().worker() != owner) metric.tables.clear(), metric.report.extra_tables.clear();
    write_results(results, world());
    return folder ? content_hash(folder->file("a.h5")) : "";
  };
  const std::string on_first = hash_with_owner(0);
  for (int owner = 1; owner < world().num_workers(); ++owner) EXPECT_EQ(hash_with_owner(owner), on_first);
}

TEST(WriteResultsTogether, GlobalOrderIsTheOneOfOneWorker) {
  write_shared(world().worker(), world().num_workers(), [](const std::string& path) {
    const InputFile file(path);
    const ResultTable rows = file.table("/collectives/instances"), members = file.table("/collectives/members");
    ASSERT_EQ(rows.rows_count, instances);
    ASSERT_EQ(members.rows_count, 4 * instances);
    for (std::int64_t i = 0; i < instances; ++i) {
      ASSERT_EQ(cell_at(rows, i, "instance"), Cell(i));
      ASSERT_EQ(cell_at(rows, i, "sequence"), Cell(i));
      ASSERT_EQ(cell_at(members, 4 * i + 1, "instance"), Cell(i));
      ASSERT_EQ(cell_at(members, 4 * i + 1, "rank"), Cell(std::int64_t{1}));
      ASSERT_EQ(cell_at(members, 4 * i + 1, "start_ns"), Cell(i * 100 + 1));
    }
  });
}

TEST(WriteResultsTogether, AnUnwritablePlaceFailsOnAllWorkers) {
  test::Run run = run_with_share(-1, 1);
  run.config.output.hdf5 = "/proc/nowhere/a.h5";
  EXPECT_THROW(write_results(run.results(), world()), FatalError);
  EXPECT_THROW(check_output(run.config, world()), FatalError);
}

}  // namespace
}  // namespace ccl
