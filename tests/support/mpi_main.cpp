// main of the tests that run under mpirun: every worker runs every test; only worker 0 prints passes.
#include <gtest/gtest.h>

#include "support/mpi_world.hpp"

namespace {
const ccl::Comm* current = nullptr;
}

namespace ccl::test {
const Comm& world() { return *current; }
}  // namespace ccl::test

int main(int argc, char** argv) {
  const ccl::Comm comm(argc, argv);
  current = &comm;
  ::testing::InitGoogleTest(&argc, argv);
  if (!comm.is_first()) {
    auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
  }
  const int failed = RUN_ALL_TESTS();
  return comm.max(failed) == 0 ? 0 : 1;
}
