#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <cstdlib>

#include "store/finish_matrices.hpp"
#include "store/sample_results.hpp"

namespace ccl {
namespace {

struct Ran {
  int exit_code = -1;
  std::string output;
};

Ran run_command(const std::string& command) {
  Ran ran;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return ran;
  std::array<char, 256> part{};
  while (fgets(part.data(), part.size(), pipe) != nullptr) ran.output += part.data();
  const int status = pclose(pipe);
  if (WIFEXITED(status)) ran.exit_code = WEXITSTATUS(status);
  return ran;
}

/// The first Python that has h5py and pandas; empty if none has.
std::string python() {
  for (const char* candidate : {"/usr/bin/python3", "python3"})
    if (run_command(std::string("timeout 60 ") + candidate + " -c 'import h5py, pandas'").exit_code == 0)
      return candidate;
  return "";
}

TEST(H5py, ReadsEveryTableOfAnOutput) {
  const std::string interpreter = python();
  if (interpreter.empty()) GTEST_SKIP() << "no Python with h5py and pandas (Debian: python3-h5py, python3-pandas)";
  const test::Folder folder(test::own("h5py"));
  test::Run run = test::sample_run();
  run.config.output.hdf5 = folder.file("a.h5");
  Results results = run.results();
  results.metrics = {test::sample_metric()};
  int argc = 0;
  char** argv = nullptr;
  const Comm comm(argc, argv);
  results.matrices = finish_matrices({test::sample_matrix(0, 1)}, comm);
  write_results(results, comm);
  const Ran ran = run_command("timeout 100 " + interpreter + " " CCL_TESTS_FOLDER "/store/read_with_h5py.py " +
                              folder.file("a.h5"));
  EXPECT_EQ(ran.exit_code, 0) << ran.output;
  EXPECT_THAT(ran.output, ::testing::HasSubstr("15 datasets read"));
}

}  // namespace
}  // namespace ccl
