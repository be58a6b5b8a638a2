// src/metrics/README.md is what --list-metrics says, as a page. After a change of a metric's texts:
//   CCL_WRITE_METRICS_PAGE=1 build/release/tests/test_metrics --gtest_filter='MetricsPage.*'
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "support/small_run.hpp"

namespace ccl::test {
namespace {

constexpr std::string_view begins = "<!-- generated: begin -->\n", ends = "<!-- generated: end -->\n";

std::string entry(const MetricInfo& info) {
  std::string text = "### " + info.name + "\n\n" + info.question + "\n\n";
  text += "- Definition: " + info.definition + "\n";
  if (!info.unit.empty()) text += "- Unit on the page: " + info.unit + "\n";
  text += "- Needs: " + info.needs + "\n";
  std::string aliases;
  for (const std::string& alias : info.aliases) aliases += (aliases.empty() ? "`" : ", `") + alias + "`";
  if (!aliases.empty()) text += "- `--metric` also takes " + aliases + "\n";
  text += "- In the file: headlines are attributes of `/metrics/" + info.name + "`";
  SmallRun nothing;
  std::string tables;
  for (const ResultTable& table : nothing.result(info.name).tables) {
    const std::string path = table.name.starts_with("/") ? table.name : "/metrics/" + info.name + "/" + table.name;
    tables += "\n  - `" + path + "`: " + table.description;
  }
  return text + (tables.empty() ? "" : "; tables:" + tables) + "\n\n";
}

std::string generated() {
  std::string text = "\n";
  for (const MetricInfo& info : metric_list()) text += entry(info);
  return text;
}

TEST(MetricsPage, SaysWhatListMetricsSays) {
  const std::filesystem::path path = std::filesystem::path(CCL_SOURCE_DIR) / "src" / "metrics" / "README.md";
  std::ifstream in(path);
  std::string page{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const std::size_t from = page.find(begins), to = page.find(ends);
  ASSERT_NE(from, std::string::npos);
  ASSERT_NE(to, std::string::npos);
  const std::size_t first = from + begins.size();
  if (std::getenv("CCL_WRITE_METRICS_PAGE") != nullptr)
    std::ofstream(path) << page.replace(first, to - first, generated());
  else
    EXPECT_TRUE(page.substr(first, to - first) == generated())
        << "stale; write it anew: CCL_WRITE_METRICS_PAGE=1 test_metrics --gtest_filter='MetricsPage.*'";
}

}  // namespace
}  // namespace ccl::test
