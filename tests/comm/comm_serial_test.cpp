#include <gtest/gtest.h>

#include "comm/comm.hpp"
#include "core/problems.hpp"

namespace ccl {
namespace {

struct SerialComm : ::testing::Test {
  int argc = 0;
  char** argv = nullptr;
  Comm comm{argc, argv};
};

TEST_F(SerialComm, IsAWorldOfOne) {
  EXPECT_EQ(comm.worker(), 0);
  EXPECT_EQ(comm.num_workers(), 1);
  EXPECT_EQ(comm.native_handle(), nullptr);
  EXPECT_EQ(comm.exclusive_sum(7), 0);
  EXPECT_EQ(comm.sum({7, -7}), (std::vector<std::int64_t>{7, -7}));
  EXPECT_EQ(comm.sum(7) + comm.min(7) + comm.max(7), 21);
}

TEST_F(SerialComm, EverythingComesBack) {
  const Bytes bytes(5, std::byte{9});
  EXPECT_EQ(comm.broadcast(bytes), bytes);
  EXPECT_EQ(comm.exchange({bytes}), std::vector<Bytes>{bytes});
  EXPECT_EQ(comm.gather_all(bytes), std::vector<Bytes>{bytes});
  comm.send(0, bytes);
  EXPECT_EQ(comm.receive(0), bytes);
  EXPECT_EQ(comm.report({1, 2, 0}).bytes, 2);
}

TEST_F(SerialComm, TogetherThrowsWhatTheStepThrew) {
  EXPECT_THROW(together(comm, [] { throw FatalError(ExitCode::bad_request, "no"); }), FatalError);
}

}  // namespace
}  // namespace ccl
