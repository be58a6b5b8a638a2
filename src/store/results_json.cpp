#include <algorithm>
#include <span>

#include "exchange/coverage.hpp"
#include "metrics/pack_report.hpp"
#include "store/json_text.hpp"
#include "store/results.hpp"
#include "store/run_facts.hpp"

namespace ccl {
namespace {

/// null where it is −1: none, or unknown.
void add_number(JsonText& json, std::string_view key, std::int64_t value) {
  json.key(key);
  if (value < 0)
    json.null();
  else
    json.integer(value);
}

void add_partly_read(JsonText& json, const PartlyRead& part) {
  json.open('{');
  add_number(json, "iteration", part.entry->iteration);
  add_number(json, "replica", part.entry->replica);
  json.key("rank").integer(part.entry->rank.value);
  json.key("every_step_lost").boolean(part.every_step);
  json.key("lost_steps").open('[');
  for (const std::int64_t step : part.lost_steps) json.integer(step);
  json.close(']').close('}');
}

void add_coverage(JsonText& json, const Results& results) {
  const RunFacts facts = run_facts(results);
  json.key("coverage").open('{');
  json.key("files").integer(static_cast<std::int64_t>(results.input.files.size()));
  json.key("input_bytes").integer(facts.input_bytes);
  json.key("ranks_covered").integer(analysed_ranks_count(results.ranks));
  json.key("ranks_expected").integer(results.ranks.expected);
  json.key("ranks_missing").open('[');
  for (const std::int32_t rank : results.ranks.missing) json.integer(rank);
  json.close(']');
  json.key("ranks_whole").integer(whole_ranks_count(results.ranks));
  const std::vector<PartlyRead> parts = partly_read(results.ranks);
  json.key("ranks_in_part_count").integer(static_cast<std::int64_t>(parts.size()));
  json.key("ranks_in_part").open('[');
  for (const PartlyRead& part : std::span(parts).first(std::min<std::size_t>(parts.size(), most_shown_rows)))
    add_partly_read(json, part);
  json.close(']');
  const std::vector<RankInDump> gaps = not_in_dump(results.ranks);
  json.key("ranks_not_in_iteration_count").integer(static_cast<std::int64_t>(gaps.size()));
  json.key("ranks_not_in_iteration").open('[');
  for (const RankInDump& gap : std::span(gaps).first(std::min<std::size_t>(gaps.size(), most_shown_rows))) {
    json.open('{');
    add_number(json, "iteration", gap.iteration);
    add_number(json, "replica", gap.replica);
    json.key("rank").integer(gap.rank).close('}');
  }
  json.close(']');
  json.key("text").text(coverage_text(results.ranks, "ranks analysed", &results.input));
  add_number(json, "world_size", results.ranks.world_size);
  json.key("hosts_count").integer(static_cast<std::int64_t>(results.ranks.hosts.size()));
  json.key("gpus_count").integer(facts.gpus_count);
  json.key("iterations").open('[');
  for (const std::int32_t iteration : facts.iterations) json.integer(iteration);
  json.close(']').key("steps_count").integer(facts.steps_count);
  json.key("mesh").text(mesh_text(results.input.workload.mesh));
  json.key("mesh_source").text(results.input.workload.mesh.source);
  json.close('}');
}

void add_cell(JsonText& json, const ColumnInfo& column, const Cell& cell) {
  if (const auto* number = std::get_if<double>(&cell)) return void(json.number(*number));
  if (const auto* text = std::get_if<std::string>(&cell)) return void(json.text(*text));
  const std::int64_t value = std::get<std::int64_t>(cell);
  if (column.type == CellType::boolean) return void(json.boolean(value != 0));
  if (column.absent_value == value) return void(json.null());
  json.integer(value);
}

/// One object for each row, since that is how scripts read it; rows behind the first are only counted.
void add_table(JsonText& json, const ShownTable& table) {
  const ResultTable& rows = table.first_rows;
  json.key(rows.name.starts_with('/') ? std::string_view(rows.name).substr(1) : std::string_view(rows.name)).open('{');
  json.key("description").text(rows.description);
  json.key("rows_count").integer(table.rows_count);
  json.key("units").open('{');
  for (const ColumnInfo& column : rows.columns) {
    if (!column.unit.empty()) json.key(column.name).text(column.unit);
  }
  json.close('}').key("rows").open('[');
  for (std::int64_t row = 0; row < rows.rows_count; ++row) {
    json.open('{');
    for (const ColumnInfo& column : rows.columns) add_cell(json.key(column.name), column, cell_at(rows, row, column.name));
    json.close('}');
  }
  json.close(']').close('}');
}

void add_metric(JsonText& json, const MetricResult& metric, std::int64_t ranks_expected) {
  json.key(metric.info.name).open('{');
  const std::vector<Headline>& headlines = metric.report.headlines;
  json.key("unit").text(headline_unit(metric.report));
  json.key("question").text(metric.info.question);
  json.key("status").text(to_text(metric.report.status));
  json.key("reason").text(metric.report.reason);
  json.key("ranks_covered").integer(metric.report.ranks_covered);
  json.key("ranks_expected").integer(ranks_expected);
  json.key("values").open('{');
  for (const Headline& headline : headlines) {
    json.key(headline.name);
    if (headline.text.empty())
      json.number(headline.value);
    else
      json.text(headline.text);
  }
  json.close('}').key("units").open('{');
  for (const Headline& headline : headlines)
    if (!headline.unit().empty()) json.key(headline.name).text(headline.unit());
  json.close('}').key("tables").open('{');
  for (const ShownTable& table : metric.report.shown) add_table(json, table);
  json.close('}').close('}');
}

/// The culprits of a code, as far as /warnings/rows keeps them.
void add_culprits(JsonText& json, const std::vector<Problem>& rows, Code code) {
  const auto is_of_code = [code](const Problem& row) { return row.code == code; };
  json.key("rows_count").integer(std::ranges::count_if(rows, is_of_code)).key("rows").open('[');
  std::int64_t shown = 0;
  for (const Problem& row : rows) {
    if (!is_of_code(row) || shown++ >= most_shown_rows) continue;
    json.open('{').key("file").text(row.file);
    add_number(json, "offset_bytes", row.offset);
    add_number(json, "iteration", row.iteration);
    add_number(json, "rank", row.rank);
    json.key("count").integer(row.count).key("detail").text(row.detail).close('}');
  }
  json.close(']');
}

void add_warnings(JsonText& json, const Problems& problems) {
  const std::vector<Problem> rows = problems.rows();
  json.key("warnings").open('[');
  for (std::size_t i = 0; i < code_count; ++i) {
    const auto code = static_cast<Code>(i);
    if (problems.count(code) == 0) continue;
    json.open('{').key("code").text(info(code).name).key("severity").text(to_text(info(code).severity));
    json.key("count").integer(problems.count(code)).key("meaning").text(info(code).meaning);
    json.key("advice").text(info(code).advice);
    add_culprits(json, rows, code);
    json.close('}');
  }
  json.close(']');
}

}  // namespace

std::string results_json(const Results& results) {
  JsonText json;
  json.open('{');
  json.key("program").text("ccl-analyze").key("version").text(CCL_VERSION);
  json.key("run").text(results.input.run);
  json.key("completeness").text(results.partial ? "partial" : "complete");
  json.key("exit_status").integer(static_cast<std::int64_t>(results.exit_code));
  json.key("hdf5").text(results.config.output.hdf5);
  add_coverage(json, results);
  json.key("metrics").open('{');
  for (const MetricResult& metric : results.metrics) add_metric(json, metric, results.ranks.expected);
  json.close('}');
  add_warnings(json, results.problems);
  return json.close('}').take() + "\n";
}

}  // namespace ccl
