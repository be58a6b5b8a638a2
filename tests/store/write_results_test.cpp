#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/finish_matrices.hpp"
#include "store/hdf5_file.hpp"
#include "store/run_tables.hpp"
#include "store/sample_results.hpp"

namespace ccl {
namespace {

using test::Folder;
using test::own;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Pair;

const Comm& alone() {
  static int argc = 0;
  static char** argv = nullptr;
  static const Comm comm(argc, argv);
  return comm;
}

/// Writes the sample with changes and returns the path.
template <class Change>
std::string write(const Folder& folder, const std::string& name, Change change) {
  test::Run run = test::sample_run();
  run.config.output.hdf5 = folder.file(name);
  Results results = run.results();
  results.metrics = {test::sample_metric()};
  results.matrices = finish_matrices({test::sample_matrix(0, 1)}, alone());
  change(run, results);
  write_results(results, alone());
  return folder.file(name);
}
std::string write(const Folder& folder, const std::string& name) {
  return write(folder, name, [](test::Run&, Results&) {});
}

TEST(WriteResults, TablesFinishedBeforeAreWrittenAsThoseThatAreNot) {
  const Folder folder(own("finished"));
  const std::string plain = write(folder, "plain.h5");
  const std::string finished = write(folder, "finished.h5", [](test::Run&, Results& results) {
    ByteWriter out;
    ASSERT_FALSE(results.metrics.front().tables.empty());
    finish_tables(results.metrics.front(), out);
    EXPECT_TRUE(results.metrics.front().tables.empty());
    results.finished = out.take();
  });
  EXPECT_EQ(content_hash(finished), content_hash(plain));
}


TEST(WriteResults, EveryPartOfTheFileIsThereAndDescribed) {
  const Folder folder(own("parts"));
  const InputFile file(write(folder, "a.h5"));
  std::vector<std::string> paths;
  for (const StoredObject& object : file.objects()) {
    paths.push_back(object.path);
    bool described = false;
    for (const auto& [name, value] : file.attributes(object.path))
      described = described || (name == "description" && !std::get<std::string>(value).empty());
    EXPECT_TRUE(described) << object.path;
  }
  EXPECT_THAT(paths, IsSupersetOf({"/ranks", "/steps", "/workload", "/process_groups", "/process_group_members",
                                   "/collectives/instances", "/collectives/members", "/metrics/sample_time/rows",
                                   "/timeline/iteration_10/compute_ns", "/timeline/iteration_10/bin_edges_ns",
                                   "/warnings/counts", "/warnings/rows", "/timings/stages", "/timings/files"}));
  EXPECT_THAT(folder.entries(), ::testing::ElementsAre("a.h5"));
}

TEST(WriteResults, EveryColumnHasADescription) {
  const Folder folder(own("columns"));
  const InputFile file(write(folder, "a.h5"));
  for (const StoredObject& object : file.objects()) {
    if (object.is_group || !file.layout(object.path).is_table()) continue;
    for (const auto& [name, value] : file.attributes(object.path)) {
      if (name == "columns") {
        EXPECT_THAT(std::get<std::string>(value), ::testing::Not(HasSubstr("\"description\": \"\""))) << object.path;
      }
    }
  }
}

TEST(WriteResults, KnownWorkloadValuesAreWrittenWithTheirSources) {
  const Folder folder(own("workload"));
  const InputFile file(write(folder, "a.h5", [](test::Run& run, Results&) {
    Workload& workload = run.input.workload;
    workload.mesh = {};
    workload.global_batch = {64, "card"};
    workload.parameters = {8e9, "toml"};
  }));
  const ResultTable table = file.table("/workload");
  ASSERT_EQ(table.rows_count, 2);
  EXPECT_EQ(cell_at(table, 0, "name"), Cell("parameters"));
  EXPECT_EQ(cell_at(table, 0, "value"), Cell("8000000000"));
  EXPECT_EQ(cell_at(table, 1, "value"), Cell("64"));
  EXPECT_EQ(cell_at(table, 1, "source"), Cell("card"));
}

TEST(WriteResults, RootAndMetricAttributes) {
  const Folder folder(own("root"));
  const InputFile file(write(folder, "a.h5"));
  const auto root = file.attributes("/");
  EXPECT_THAT(
      root,
      IsSupersetOf({NamedAttribute("completeness", "complete"), NamedAttribute("exit_status", std::int64_t{0}),
                    NamedAttribute("ranks_expected", std::int64_t{5}), NamedAttribute("ranks_covered", std::int64_t{4}),
                    NamedAttribute("ranks_whole", std::int64_t{4}), NamedAttribute("coverage", "4 of 5 ranks analysed, missing rank 4"),
                    NamedAttribute("schema_version", std::int64_t{1}), NamedAttribute("mesh", "dp_shard=2 tp=2")}));
  EXPECT_THAT(file.attributes("/metrics/sample_time"),
              IsSupersetOf({NamedAttribute("status", "ok"), NamedAttribute("mean_ns", 12.5),
                            NamedAttribute("worst_rank", "rank 3"),
                            NamedAttribute("headlines",
                                           "{\"mean_ns\": \"mean over steps\", \"p99_ns\": \"99th "
                                           "percentile\", \"worst_rank\": \"the slowest\"}")}));
}

TEST(WriteResults, CollectivesAreInOrderAndOnTheCorrectedClock) {
  const Folder folder(own("collectives"));
  const InputFile file(write(folder, "a.h5"));
  const ResultTable instances = file.table("/collectives/instances");
  const ResultTable members = file.table("/collectives/members");
  ASSERT_EQ(instances.rows_count, 50);
  ASSERT_EQ(members.rows_count, 200);
  for (std::int64_t i = 0; i < 50; ++i) {
    EXPECT_EQ(cell_at(instances, i, "instance"), Cell(i));
    EXPECT_EQ(cell_at(instances, i, "sequence"), Cell(i));
    EXPECT_EQ(cell_at(members, 4 * i + 3, "instance"), Cell(i));
    EXPECT_EQ(cell_at(members, 4 * i + 3, "rank"), Cell(std::int64_t{3}));
    EXPECT_EQ(cell_at(members, 4 * i + 3, "start_ns"), Cell(i * 100 + 3 + 1000)) << "host 1 is 1000 ns behind";
  }
  EXPECT_EQ(cell_at(instances, 0, "op"), Cell("all_reduce"));
}

TEST(WriteResults, CollectivesOnlyIfAMetricNeedsThem) {
  const Folder folder(own("no_collectives"));
  const InputFile file(
      write(folder, "a.h5", [](test::Run&, Results& results) { results.metrics[0].info.needs_matching = false; }));
  EXPECT_FALSE(file.exists("/collectives"));
}

TEST(WriteResults, ContentDoesNotDependOnPlaceTimeOrProgram) {
  const Folder folder(own("content"));
  const std::string hash = content_hash(write(folder, "a.h5"));
  EXPECT_EQ(hash.size(), 64U);
  EXPECT_EQ(content_hash(write(folder, "b.h5",
                               [](test::Run& run, Results&) {
                                 run.input.root = "/elsewhere";
                                 run.config.command_line = "ccl-analyze -o b.h5 /elsewhere";
                                 run.config.input.folders = {"/elsewhere"};
                                 run.config.input.card = "/elsewhere/card.yaml";
                                 run.config.input.card.clear();
                                 run.timings.stages.clear();
                               })),
            hash);
  EXPECT_NE(content_hash(write(folder, "c.h5", [](test::Run& run, Results&) { run.clock.residual_ns = 3; })), hash);
  EXPECT_NE(content_hash(write(folder, "d.h5", [](test::Run&, Results& results) { results.partial = true; })), hash);
  EXPECT_NE(
      content_hash(write(folder, "e.h5",
                         [](test::Run&, Results& results) { results.metrics[0].tables[0].packed[0] = std::byte{9}; })),
      hash);
}

TEST(WriteResults, TablesWithAPathOfTheirOwnGoThere) {
  const Folder folder(own("path"));
  const InputFile file(write(folder, "a.h5", [](test::Run&, Results& results) {
    results.metrics[0].tables.push_back(test::sample_table(0, 3, "/traffic/matrix"));
  }));
  EXPECT_EQ(file.table("/traffic/matrix").rows_count, 3);
}

TEST(WriteResults, AnUnwritablePlaceIsABadRequestEarlyAndLate) {
  test::Run run = test::sample_run();
  run.config.output.hdf5 = "/proc/nowhere/a.h5";
  for (const bool early : {true, false}) try {
      if (early)
        check_output(run.config, alone());
      else
        write_results(run.results(), alone());
      FAIL();
    } catch (const FatalError& error) {
      EXPECT_EQ(error.exit_code(), ExitCode::bad_request);
    }
  const Folder folder(own("probe"));
  run.config.output.hdf5 = folder.file("a.h5");
  check_output(run.config, alone());
  EXPECT_TRUE(folder.entries().empty());
}

TEST(RunTables, WarningCountsListEveryCode) {
  const test::Run run = test::sample_run();
  const ResultTable counts = warning_count_table(run.problems);
  EXPECT_EQ(counts.rows_count, static_cast<std::int64_t>(code_count));
  EXPECT_EQ(cell_at(counts, 0, "code"), Cell("file_cut"));
  EXPECT_EQ(cell_at(counts, 0, "count"), Cell(std::int64_t{1}));
  const ResultTable rows = warning_row_table(run.problems);
  EXPECT_EQ(cell_at(rows, 0, "code"), Cell("file_cut")) << "data loss comes before notices";
}

TEST(RunTables, MeshPlaceCountsFromTheInnermostDimension) {
  Mesh mesh;
  mesh.pp = 2, mesh.dp_shard = 2, mesh.cp = 2, mesh.tp = 2, mesh.ep = 4;
  EXPECT_EQ(mesh_place(mesh, RankId(13)).pp, -1) << "no source, no place";
  mesh.source = "card";
  const MeshPlace place = mesh_place(mesh, RankId(13));  // 0b1101: pp 1, dp_shard 1, cp 0, tp 1
  EXPECT_EQ(place.pp, 1);
  EXPECT_EQ(place.dp_shard, 1);
  EXPECT_EQ(place.cp, 0);
  EXPECT_EQ(place.tp, 1);
  EXPECT_EQ(place.ep, 2);
  EXPECT_EQ(mesh_place(mesh, RankId(16)).tp, -1);
}

}  // namespace
}  // namespace ccl
