#include "discover/host_map.hpp"

#include <gtest/gtest.h>

#include "core/problems.hpp"

namespace ccl {

TEST(HostMap, LinesInEveryUsualForm) {
  const auto hosts = parse_host_map("rank host\n0 a\n1\tb # spare\n\n2,c\r\n3: d\n3 d\n# end\n", "f");
  EXPECT_EQ(hosts, (std::map<std::int32_t, std::string>{{0, "a"}, {1, "b"}, {2, "c"}, {3, "d"}}));
}

TEST(HostMap, AHeadingBeginsWithRank) {
  for (const char* text : {"rank host\n0 a\n", "# nodes\n\nRank,Hostname\n0,a\n", "ranks: nodes\n0: a\n"})
    EXPECT_EQ(parse_host_map(text, "f").size(), 1U) << text;
  for (const char* text : {"zero n0\n", "-1 n0\n", "1st n0\n", "n0 0\n"}) {
    try {
      parse_host_map(text + std::string("1 a\n"), "f");
      FAIL() << text;
    } catch (const FatalError& error) {
      EXPECT_NE(std::string(error.what()).find("f, line 1 is not 'rank host'"), std::string::npos) << error.what();
    }
  }
  EXPECT_THROW(parse_host_map("0 a\nrank host\n", "f"), FatalError);
}

TEST(HostMap, WrongLinesAreNamed) {
  for (const char* text : {"0 a\nx b\n", "0 a\n1\n", "0 a\n1 b c\n", "0 a\n0 b\n", "0 a\n-1 b\n"}) {
    try {
      parse_host_map(text, "hosts.txt");
      FAIL() << text;
    } catch (const FatalError& error) {
      EXPECT_EQ(error.exit_code(), ExitCode::bad_request);
      EXPECT_NE(std::string(error.what()).find("hosts.txt, line 2"), std::string::npos) << error.what();
    }
  }
}

}  // namespace ccl
