#include "discover/gate_log.hpp"

#include <gtest/gtest.h>

namespace ccl {
namespace {

TEST(GateLog, StepsAreSummedByExpert) {
  const auto log = read_gate_log(R"({"layer": 3, "expert_loads": [[10, 0, 5.5], [], [1, 2, 3, 4]], "note": "x"})");
  ASSERT_TRUE(log);
  EXPECT_EQ(log->loads, (std::vector<double>{11, 2, 8.5, 4}));
  EXPECT_EQ(log->entries_count, 2) << "an empty step is none";
}

TEST(GateLog, AnAssignmentFileHasOneListForItsRank) {
  const auto log = read_gate_log(" {\"rank\": 2, \"token_counts\": [7, 9]}\n");
  ASSERT_TRUE(log);
  EXPECT_EQ(log->loads, (std::vector<double>{7, 9}));
}

TEST(GateLog, WhatIsNoLoadIsRefused) {
  for (const char* text : {"", "[1]", "{}", R"({"expert_loads": [[1, -2]]})", R"({"expert_loads": [["1"]]})",
                           R"({"expert_loads": [[NaN]]})", R"({"expert_loads": [5]})", R"({"expert_loads": [[1, 2)",
                           R"({"token_counts": []})"})
    EXPECT_FALSE(read_gate_log(text)) << text;
}

TEST(GateLog, NamesOfTheFiles) {
  EXPECT_TRUE(is_gate_log_name("gate_logs_17.json"));
  EXPECT_TRUE(is_gate_log_name("moe_assignments_rank3.json"));
  EXPECT_FALSE(is_gate_log_name("gate_logs_17.txt"));
  EXPECT_FALSE(is_gate_log_name("kineto_trace_0.json"));
}

}  // namespace
}  // namespace ccl
