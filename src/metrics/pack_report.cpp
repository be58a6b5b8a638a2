#include "metrics/pack_report.hpp"

#include <algorithm>

#include "core/pack_columns.hpp"

namespace ccl {
namespace {

void pack_texts(const std::vector<std::string>& texts, ByteWriter& out) {
  out.value<std::uint64_t>(texts.size());
  for (const std::string& text : texts) out.text(text);
}
std::vector<std::string> unpack_texts(ByteReader& in) {
  std::vector<std::string> texts(in.value<std::uint64_t>());
  for (std::string& text : texts) text = in.text();
  return texts;
}

void pack_table(const ResultTable& table, ByteWriter& out) {
  out.text(table.name);
  out.text(table.description);
  pack_columns(table.columns, out);
  out.value(table.rows_count);
  out.array(table.packed);
}
ResultTable unpack_table(ByteReader& in) {
  ResultTable table;
  table.name = in.text();
  table.description = in.text();
  table.columns = unpack_columns(in);
  table.rows_count = in.value<std::int64_t>();
  table.packed = in.array<std::byte>();
  table.shown = true;
  return table;
}

}  // namespace

void keep_shown(MetricResult& metric) {
  for (const auto* tables : {&metric.tables, &metric.report.extra_tables})
    for (const ResultTable& table : *tables) {
      if (!table.shown) continue;
      ShownTable& kept = metric.report.shown.emplace_back();
      kept.rows_count = table.rows_count;
      ResultTable& first = kept.first_rows;
      first.name = table.name;
      first.description = table.description;
      first.columns = table.columns;
      first.rows_count = std::min(table.rows_count, most_shown_rows);
      first.packed.assign(table.packed.begin(),
                          table.packed.begin() + static_cast<std::ptrdiff_t>(first.rows_count * table.row_bytes()));
      first.shown = true;
    }
}

void pack_report(const Report& report, ByteWriter& out) {
  out.value(report.status);
  out.text(report.reason);
  out.value(report.ranks_covered);
  out.value<std::uint64_t>(report.headlines.size());
  for (const Headline& headline : report.headlines) {
    out.text(headline.name);
    out.value(headline.value);
    out.text(headline.text);
    out.text(headline.description);
  }
  pack_texts(report.page, out);
  pack_texts(report.details, out);
  out.value<std::uint64_t>(report.vectors.size());
  for (const ResultVector& vector : report.vectors) {
    pack_texts({vector.path, vector.description, vector.unit}, out);
    out.array(vector.values);
  }
  out.value<std::uint64_t>(report.shown.size());
  for (const ShownTable& table : report.shown) {
    pack_table(table.first_rows, out);
    out.value(table.rows_count);
  }
}
void unpack_report(ByteReader& in, Report& report) {
  report.status = in.value<Status>();
  report.reason = in.text();
  report.ranks_covered = in.value<std::int64_t>();
  report.headlines.resize(in.value<std::uint64_t>());
  for (Headline& headline : report.headlines) {
    headline.name = in.text();
    headline.value = in.value<double>();
    headline.text = in.text();
    headline.description = in.text();
  }
  report.page = unpack_texts(in);
  report.details = unpack_texts(in);
  report.vectors.resize(in.value<std::uint64_t>());
  for (ResultVector& vector : report.vectors) {
    std::vector<std::string> texts = unpack_texts(in);
    vector = {std::move(texts.at(0)), std::move(texts.at(1)), std::move(texts.at(2)), in.array<std::int64_t>()};
  }
  report.shown.resize(in.value<std::uint64_t>());
  for (ShownTable& table : report.shown) {
    table.first_rows = unpack_table(in);
    table.rows_count = in.value<std::int64_t>();
  }
}

}  // namespace ccl
