// Real exports, schemas 2021 to 2026: what the reader makes of them equals what plain SQL on the file gives.
#include <gtest/gtest.h>

#include <filesystem>

#include "parse/config_files.hpp"
#include "parse/trace_reader.hpp"
#include "support/real_traces.hpp"

namespace ccl {
namespace {

struct Expected {
  const char* file;
  std::size_t ranks;
  std::int64_t kernels, joined;
};
void PrintTo(const Expected& expected, std::ostream* out) { *out << expected.file; }

class NsysCorpus : public testing::TestWithParam<Expected> {};

TEST_P(NsysCorpus, KernelsAndLaunchesEqualPlainSql) {
  const Expected& want = GetParam();
  TraceFile file;
  file.path = test::real_traces() / "given" / "nsys" / want.file;
  if (!std::filesystem::exists(file.path)) GTEST_SKIP() << test::no_real_traces;
  file.shown = want.file;
  file.format = TraceFormat::nsys_sqlite;
  const Classifier classifier(embedded_config("kernels"));
  ReadOptions options;
  options.classifier = &classifier;
  Problems problems;
  Progress progress;
  std::size_t ranks = 0;
  std::int64_t kernels = 0, joined = 0;
  make_nsys_sqlite_reader()->read(file, options, problems, progress, [&](const RankTrace& trace) {
    ++ranks;
    for (std::size_t i = 0; i < trace.events.size(); ++i) {
      const EventKind kind = trace.events.kind[i];
      if (kind != EventKind::compute && kind != EventKind::communication) continue;
      ++kernels;
      joined += trace.events.launch_ns[i] != absent_ns ? 1 : 0;
    }
  });
  EXPECT_EQ(ranks, want.ranks);
  EXPECT_EQ(kernels, want.kernels);
  EXPECT_EQ(joined, want.joined);
}

INSTANTIATE_TEST_SUITE_P(Real, NsysCorpus,
                         testing::Values(Expected{"extrap_callchains_s10_2021.sqlite", 1, 6, 6},
                                         Expected{"extrap_con_kernel.sqlite", 1, 9, 7},
                                         Expected{"extrap_concurrent_s1.sqlite", 1, 12, 12},
                                         Expected{"h100_2gpu_1s.sqlite", 2, 3442, 1632},
                                         Expected{"mfu_2gpu_before.sqlite", 2, 4010, 3986},
                                         Expected{"mock.sqlite", 1, 2, 2},
                                         Expected{"nsightful_power_iteration.sqlite", 1, 3689, 3689},
                                         Expected{"pipit_cloverleaf_perlmutter.sqlite", 1, 1312, 1312}));

}  // namespace
}  // namespace ccl
