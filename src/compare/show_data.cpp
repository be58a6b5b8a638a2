#include <array>

#include "compare/show.hpp"
#include "store/json_text.hpp"
#include "store/write_table.hpp"

namespace ccl {
namespace {

constexpr std::array<const char*, 7> unit_names{"ns", "bytes", "", "", "1/s", "bytes/s", ""};  // by Unit
std::string unit_name(Unit unit) { return unit_names[static_cast<std::size_t>(unit)]; }

std::string_view to_text(BoundOutcome outcome) {
  constexpr std::string_view names[] = {"kept", "broken", "within_noise", "not_judged"};
  return names[static_cast<std::size_t>(outcome)];
}

void add_change(JsonText& json, const Change& change) {
  json.key("first").number(change.first);
  json.key("second").number(change.second);
  json.key("change_ratio").number(change.change_ratio);
  json.key("mean_change_ratio").number(change.mean_change_ratio);
  json.key("noise_band").number(change.band);
  json.key("first_repetitions_count").integer(static_cast<std::int64_t>(change.first_count));
  json.key("second_repetitions_count").integer(static_cast<std::int64_t>(change.second_count));
  json.key("verdict").text(to_text(change.verdict));
}

void add_figures(JsonText& json, const char* name, const std::vector<ComparedFigure>& figures) {
  json.key(name).open('[');
  for (const ComparedFigure& one : figures) {
    json.open('{');
    json.key("metric").text(one.figure.metric);
    json.key("figure").text(one.figure.label);
    if (!one.figure.section.empty()) json.key("section").text(one.figure.section);
    if (!one.key.empty()) json.key("key").text(one.key);
    json.key("unit").text(unit_name(one.figure.unit));
    add_change(json, one.change);
    json.close('}');
  }
  json.close(']');
}

void add_texts(JsonText& json, const char* name, const std::vector<std::string>& texts) {
  json.key(name).open('[');
  for (const std::string& text : texts) json.text(text);
  json.close(']');
}

struct FigureRow {
  std::string file;
  const ComparedFigure* one = nullptr;
};
struct NoteRow {
  std::string file, kind, text;
};
struct BoundRow {
  std::string file;
  const JudgedBound* one = nullptr;
};

ResultTable figure_table(const CompareResults& results) {
  std::vector<FigureRow> rows;
  for (const Comparison& comparison : results.comparisons)
    for (const auto* figures : {&comparison.whole, &comparison.split})
      for (const ComparedFigure& one : *figures) rows.push_back({comparison.second, &one});
  using Row = FigureRow;
  const auto text = [](const char* name, const char* what, std::string (*get)(const ComparedFigure&)) {
    return text_column<Row>(name, what, [get](const Row& row) { return get(*row.one); });
  };
  const auto number = [](const char* name, const char* what, double Change::*member) {
    return derived<Row>(name, "", what, [member](const Row& row) { return row.one->change.*member; });
  };
  const auto count = [](const char* name, const char* what, std::size_t Change::*member) {
    return integer_column<Row>(name, "", what, {},
                               [member](const Row& row) { return static_cast<std::int64_t>(row.one->change.*member); });
  };
  const std::vector<ColumnSpec<Row>> specs{
      text_column<Row>("second_file", "the file that is compared with the first", [](const Row& r) { return r.file; }),
      text("metric", "metric of ccl-analyze", [](const ComparedFigure& f) { return f.figure.metric; }),
      text("section", "ranks, operations, groups, kernels ...; empty for the whole run",
           [](const ComparedFigure& f) { return f.figure.section; }),
      text("key", "which rank, operation, group or kernel", [](const ComparedFigure& f) { return f.key; }),
      text("figure", "what is compared", [](const ComparedFigure& f) { return f.figure.label; }),
      text("unit", "unit of first, second and band", [](const ComparedFigure& f) { return unit_name(f.figure.unit); }),
      number("first", "median over the repetitions of the first file; NaN = absent", &Change::first),
      number("second", "median over the repetitions of the second file; NaN = absent", &Change::second),
      number("change_ratio", "second / first - 1", &Change::change_ratio),
      number("mean_change_ratio", "change of the means: moves with single slow steps, which medians pass over",
             &Change::mean_change_ratio),
      number("noise_band", "half-width of the 95 % interval of second - first; NaN with one repetition", &Change::band),
      count("first_repetitions_count", "steps, or ranks where a table has no steps", &Change::first_count),
      count("second_repetitions_count", "steps, or ranks where a table has no steps", &Change::second_count),
      text("verdict", "same, better, worse, changed, unknown_noise, only_first or only_second",
           [](const ComparedFigure& f) { return std::string(to_text(f.change.verdict)); })};
  return make_table("figures", "every figure of two runs side by side", specs, rows);
}

ResultTable note_table(const CompareResults& results) {
  std::vector<NoteRow> rows;
  for (const Comparison& comparison : results.comparisons) {
    for (const std::string& text : comparison.comparability.refusals)
      rows.push_back({comparison.second, "refusal", text});
    for (const std::string& text : comparison.comparability.notes) rows.push_back({comparison.second, "note", text});
    for (const Lacking& one : comparison.comparability.lacking)
      rows.push_back({comparison.second, "incomplete", one.text()});
    if (!comparison.late.empty()) rows.push_back({comparison.second, "late", comparison.late});
    for (const AbsentMetric& one : comparison.absent)
      rows.push_back({comparison.second, "not compared", one.metric + ": " + one.why});
  }
  const std::vector<ColumnSpec<NoteRow>> specs{
      column("second_file", &NoteRow::file, "", "the file that is compared with the first"),
      column("kind", &NoteRow::kind, "", "refusal (overruled by --force), note, incomplete, late or not compared"),
      column("text", &NoteRow::text, "", "what differs")};
  return make_table("notes", "what stands in the way of comparing", specs, rows);
}

ResultTable bound_table(const CompareResults& results) {
  std::vector<BoundRow> rows;
  for (std::size_t i = 0; i < results.judged.size(); ++i)
    for (const JudgedBound& one : results.judged[i]) rows.push_back({results.comparisons[i].second, &one});
  using Row = BoundRow;
  const std::vector<ColumnSpec<Row>> specs{
      column("second_file", &Row::file, "", "the file that is compared with the first"),
      text_column<Row>("bound", "as written after --fail-if", [](const Row& row) { return row.one->bound.text; }),
      text_column<Row>("outcome", "kept, broken, within_noise or not_judged",
                       [](const Row& row) { return std::string(to_text(row.one->outcome)); }),
      text_column<Row>("why", "why it is not judged, who is late anew; else empty", [](const Row& row) { return row.one->why; })};
  return make_table("bounds", "the bounds of --fail-if", specs, rows);
}

}  // namespace

std::string comparison_json(const CompareResults& results) {
  JsonText json;
  json.open('[');
  for (std::size_t i = 0; i < results.comparisons.size(); ++i) {
    const Comparison& comparison = results.comparisons[i];
    json.open('{');
    json.key("first").text(comparison.first);
    json.key("second").text(comparison.second);
    json.key("first_run").text(results.descriptions[0]);
    json.key("second_run").text(results.descriptions[i + 1]);
    add_texts(json, "refusals", comparison.comparability.refusals);
    add_texts(json, "notes", comparison.comparability.notes);
    std::vector<std::string> lacking;
    for (const Lacking& one : comparison.comparability.lacking) lacking.push_back(one.text());
    add_texts(json, "incomplete", lacking);
    json.key("late").text(comparison.late);
    json.key("not_compared").open('{');
    for (const AbsentMetric& one : comparison.absent) json.key(one.metric).text(one.why);
    json.close('}');
    json.key("bounds").open('[');
    for (const JudgedBound& one : results.judged[i]) {
      json.open('{');
      json.key("bound").text(one.bound.text);
      json.key("outcome").text(to_text(one.outcome));
      if (!one.why.empty()) json.key("why").text(one.why);
      if (!one.bound.new_straggler) add_change(json, one.change);
      json.close('}');
    }
    json.close(']');
    add_figures(json, "figures", comparison.whole);
    add_figures(json, "split", comparison.split);
    json.close('}');
  }
  return json.close(']').take() + "\n";
}

void write_comparison(const std::string& path, const CompareResults& results) {
  OutputFile file(path);
  file.group("/");
  file.attribute("/", "description", std::string("comparison of result files of ccl-analyze"));
  file.attribute("/", "first_file", results.comparisons.front().first);
  file.attribute("/", "program_version", std::string(CCL_VERSION));
  write_table(file, "/figures", figure_table(results));
  write_table(file, "/notes", note_table(results));
  write_table(file, "/bounds", bound_table(results));
  file.commit();
}

}  // namespace ccl
