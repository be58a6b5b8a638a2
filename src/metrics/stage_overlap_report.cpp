#include <cstdio>
#include <map>
#include <set>

#include "core/statistics.hpp"
#include "metrics/stage_overlap.hpp"

namespace ccl {
namespace {

constexpr double outlier_ratio = 0.1;  // a rank hidden this much less than the median is named

long long as_printed(std::int64_t value) { return value; }

/// One stage over ranks.
struct Stage {
  std::string name;
  std::vector<const StageRow*> rows;  // with communication
  double median_ratio = 0;
  const StageRow *least = nullptr, *most = nullptr;
  std::int64_t exposed_ns = 0, count = 0;
};

/// Worst first.
std::vector<Stage> by_stage(const std::vector<StageRow>& rows, const StringTable& strings) {
  std::map<std::string, Stage> found;
  for (const StageRow& row : rows) {
    const std::string name(strings.text(row.stage));
    if (row.communication_ns <= 0 || name == "none") continue;
    Stage& stage = found[name];
    stage.name = name;
    stage.rows.push_back(&row);
    stage.exposed_ns += row.exposed_ns;
    stage.count += row.communication_count;
    if (stage.least == nullptr || row.hidden_ratio() < stage.least->hidden_ratio()) stage.least = &row;
    if (stage.most == nullptr || row.hidden_ratio() > stage.most->hidden_ratio()) stage.most = &row;
  }
  std::vector<Stage> all;
  for (auto& [name, stage] : found) {
    std::vector<double> shares;
    for (const StageRow* row : stage.rows) shares.push_back(row->hidden_ratio());
    stage.median_ratio = median(shares);
    all.push_back(std::move(stage));
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Stage& a, const Stage& b) { return a.median_ratio < b.median_ratio; });
  return all;
}

/// What the windows are, in a few words.
std::string windows_text(const std::vector<StageRankRow>& ranks, const StringTable& strings) {
  std::map<std::string, std::size_t> sources;
  std::int64_t shortest = INT64_MAX, longest = 0;
  for (const StageRankRow& row : ranks) {
    ++sources[std::string(strings.text(row.window_source))];
    if (row.window.start_ns == absent_ns) continue;
    shortest = std::min(shortest, row.window.length_ns());
    longest = std::max(longest, row.window.length_ns());
  }
  std::string text;
  for (const auto& [source, count] : sources) {
    const std::string what = source == "chunk"  ? "middle overlapped chunk"
                             : source == "step" ? "middle step"
                             : source == "user" ? "--start to --end"
                                                : "whole capture";
    text += (text.empty() ? "" : ", ") + what + (sources.size() > 1 ? " of " + counted(count, "rank") : "");
  }
  if (longest > 0)
    text += ", " + milliseconds(static_cast<double>(shortest)) + " to " + milliseconds(static_cast<double>(longest));
  return text;
}

std::string outliers_text(const Stage& stage) {
  std::string text;
  for (const StageRow* row : stage.rows)
    if (row->hidden_ratio() < stage.median_ratio - outlier_ratio)
      text += (text.empty() ? "" : ", ") + rank_name(row->replica, row->rank) + " " + percent(row->hidden_ratio());
  return text;
}

struct Balance {
  std::map<std::int32_t, std::vector<double>> compute;  // by place in the pipeline, of each rank
  double imbalance = std::numeric_limits<double>::quiet_NaN();
  double mean(std::int32_t pp) const { return ccl::mean(compute.at(pp)); }
};

Balance balance_of(const std::vector<StageRankRow>& ranks) {
  Balance out;
  for (const StageRankRow& row : ranks)
    if (row.label.pp >= 0 && row.window.start_ns != absent_ns)
      out.compute[row.label.pp].push_back(static_cast<double>(row.compute_ns));
  if (out.compute.size() < 2) return out;
  std::vector<double> means;
  for (const auto& [pp, times] : out.compute) means.push_back(mean(times));
  const double all = mean(means);
  if (all > 0) out.imbalance = *std::max_element(means.begin(), means.end()) / all;
  return out;
}

void add_setup(const std::vector<StageRankRow>& ranks, const StringTable& strings, std::vector<std::string>& out) {
  std::vector<std::string> lines{
      "  set-up and windows (ns on the trace clock):",
      "     pid  rank   pp     dp     cp     ep    mbs    seq  window"};
  const auto place = [](std::int32_t at, std::int32_t size) {
    return at < 0 ? std::string("-") : std::to_string(at) + "/" + std::to_string(size);
  };
  for (const StageRankRow& row : ranks) {
    char text[160];
    const SetupLabel& l = row.label;
    std::snprintf(text, sizeof text, "%8lld  %4d  %-6s %-6s %-6s %-5s %4lld %6lld  ", as_printed(row.pid),
                  row.rank.value, place(l.pp, l.pp_size).c_str(), place(l.dp, l.dp_size).c_str(),
                  place(l.cp, l.cp_size).c_str(), place(l.ep, l.ep_size).c_str(), as_printed(l.micro_batch_size),
                  as_printed(l.sequence_length));
    const bool known = row.window.start_ns != absent_ns;
    lines.push_back(std::string(text) +
                    (known ? std::to_string(row.window.start_ns) + " to " + std::to_string(row.window.end_ns) + " "
                           : std::string("absent: ")) +
                    short_name(strings.text(row.window_name)));
  }
  add_capped(out, lines, 200);
}

void add_table(const std::vector<StageRow>& rows, const StringTable& strings, std::vector<std::string>& out) {
  std::vector<std::string> lines{"     pid  stage                exposed_ns   overlap  overlap_min  overlap_max"};
  for (const StageRow& row : rows) {
    if (row.communication_count == 0) continue;
    char text[160];
    std::snprintf(text, sizeof text, "%8lld  %-16.16s %14lld  %7.2f%%     %7.2f%%     %7.2f%%", as_printed(row.pid),
                  std::string(strings.text(row.stage)).c_str(), as_printed(row.exposed_ns), 100 * row.hidden_ratio(),
                  100 * row.hidden_min_ratio, 100 * row.hidden_max_ratio);
    lines.emplace_back(text);
  }
  add_capped(out, lines, 200);
}

}  // namespace

void report_stages(const std::vector<StageRow>& rows, const std::vector<StageRankRow>& ranks,
                   const ReportContext& context, Report& out) {
  if (ranks.empty())
    return out.not_applicable("no range in the traces is named by `stages` of configs/kernels.yaml");
  const std::vector<Stage> stages = by_stage(rows, context.strings);
  const std::string windows = windows_text(ranks, context.strings);
  out.note("windows", windows, "where the shares are taken");
  const Balance balance = balance_of(ranks);
  std::vector<std::string> said;
  if (stages.empty()) {
    out.absent("no communication kernel of a stage in the window: " + windows + "; widen it with --start and --end");
  } else {
    const Stage& worst = stages.front();
    out.value("worst_hidden_ratio", worst.median_ratio, "median over ranks of the stage with the smallest");
    out.note("worst_stage", worst.name, "stage with the smallest median hidden share");
    out.value("worst_hidden_min_ratio", worst.least->hidden_ratio(), "smallest over ranks");
    out.value("worst_hidden_min_rank", worst.least->rank.value, "rank with the smallest");
    out.value("worst_hidden_max_ratio", worst.most->hidden_ratio(), "largest over ranks");
    out.value("pipeline_imbalance_ratio", balance.imbalance, "largest / mean over pp of the mean compute time");
    std::string line = worst.name + " is hidden worst: " + percent(worst.median_ratio) + " (median of " +
                       counted(worst.rows.size(), "rank") + "; " + percent(worst.least->hidden_ratio()) + " on " +
                       rank_name(worst.least->replica, worst.least->rank) + " to " +
                       percent(worst.most->hidden_ratio()) + " on " + rank_name(worst.most->replica, worst.most->rank) +
                       ")";
    add_line(out.page, "stages", line + "; window: " + windows);
    add_line(said, "  window", windows);
    said.emplace_back("  1, 2. stages, worst first: hidden share (median over ranks, least, most), exposed, kernels");
    for (const Stage& stage : stages) {
      std::string text = "    " + stage.name + "  " + percent(stage.median_ratio) + "  " +
                         percent(stage.least->hidden_ratio()) + " on " +
                         rank_name(stage.least->replica, stage.least->rank) + "  " +
                         percent(stage.most->hidden_ratio()) + " on " +
                         rank_name(stage.most->replica, stage.most->rank) + "  exposed " +
                         milliseconds(static_cast<double>(stage.exposed_ns)) + ", " + std::to_string(stage.count) +
                         " kernels";
      if (const std::string outliers = outliers_text(stage); !outliers.empty()) text += "; far below: " + outliers;
      said.push_back(std::move(text));
    }
    std::vector<const StageRow*> ranked;
    for (const Stage& stage : stages) ranked.insert(ranked.end(), stage.rows.begin(), stage.rows.end());
    std::stable_sort(ranked.begin(), ranked.end(),
                     [](const StageRow* a, const StageRow* b) { return a->exposed_ns > b->exposed_ns; });
    constexpr std::size_t shown = 10;
    if (ranked.size() > shown) ranked.resize(shown);
    said.emplace_back("  4. most exposed communication:");
    for (const StageRow* row : ranked)
      said.push_back("    " + rank_name(row->replica, row->rank) + " " + std::string(context.strings.text(row->stage)) +
                     "  " + milliseconds(static_cast<double>(row->exposed_ns)) + " exposed of " +
                     milliseconds(static_cast<double>(row->communication_ns)));
  }
  if (balance.compute.size() > 1) {
    said.emplace_back("  3. compute of the pipeline's stages in the window: largest / mean " +
                      percent(balance.imbalance));
    for (const auto& [pp, times] : balance.compute)
      said.push_back("    pp " + std::to_string(pp) + ": mean " + milliseconds(balance.mean(pp)) + ", " +
                     milliseconds(*std::min_element(times.begin(), times.end())) + " to " +
                     milliseconds(*std::max_element(times.begin(), times.end())) + " over " +
                     counted(times.size(), "rank"));
  }
  std::int64_t barrier_ns = 0;
  for (const StageRankRow& row : ranks) barrier_ns += row.barrier_ns;
  out.value("barrier_ns", static_cast<double>(barrier_ns), "communication on compute streams, all ranks");
  said.push_back("  communication on compute streams (barriers, in no share above): " +
                 milliseconds(static_cast<double>(barrier_ns)) + " over all ranks");
  out.details = std::move(said);
  add_table(rows, context.strings, out.details);
  add_setup(ranks, context.strings, out.details);
}

TableInfo StageRow::table() { return {"by_stage", "communication of each stage in the window of its rank"}; }

std::vector<ColumnSpec<StageRow>> StageRow::columns(const Resolver& resolver) {
  using Row = StageRow;
  std::vector<ColumnSpec<Row>> all = key_columns<Row>();
  all.push_back(text_column<Row>("stage", "stage around the launch; none = no range with one",
                                 [find = resolver.text](const Row& row) { return find(row.stage); }));
  all.push_back(column("pid", &Row::pid, "", "process that launches", -1));
  all.push_back(column("communication_count", &Row::communication_count, "", "kernels wholly in the window, on streams without compute"));
  all.push_back(column("communication_ns", &Row::communication_ns, "ns", "sum of their durations"));
  all.push_back(column("exposed_ns", &Row::exposed_ns, "ns", "sum of their durations outside compute kernels"));
  all.push_back(derived<Row>("hidden_ratio", "", "1 - exposed_ns / communication_ns",
                             [](const Row& row) { return row.hidden_ratio(); }));
  all.push_back(column("hidden_min_ratio", &Row::hidden_min_ratio, "", "of the kernel hidden least"));
  all.push_back(column("hidden_max_ratio", &Row::hidden_max_ratio, "", "of the kernel hidden most"));
  all.push_back(column("union_communication_ns", &Row::union_communication_ns, "ns", "union of the communication, clipped to the window"));
  all.push_back(column("union_exposed_ns", &Row::union_exposed_ns, "ns", "of it without compute: two kernels at once count once"));
  all.push_back(column("barriers_count", &Row::barriers_count, "", "communication kernels on streams with compute"));
  all.push_back(column("barrier_ns", &Row::barrier_ns, "ns", "sum of their durations; in nothing else"));
  return all;
}

TableInfo StageRankRow::table() { return {"rows", "set-up, window and compute time of each rank"}; }

std::vector<ColumnSpec<StageRankRow>> StageRankRow::columns(const Resolver& resolver) {
  using Row = StageRankRow;
  std::vector<ColumnSpec<Row>> all = key_columns<Row>();
  all.push_back(column("pid", &Row::pid, "", "process that launches", -1));
  const auto place = [&](const std::string& name, std::int32_t SetupLabel::*member, const std::string& what) {
    all.push_back(integer_column<Row>(name, "", what, -1,
                                      [member](const Row& row) { return std::int64_t{row.label.*member}; }));
  };
  place("pp", &SetupLabel::pp, "stage of the pipeline");
  place("pp_size", &SetupLabel::pp_size, "stages of the pipeline");
  place("dp", &SetupLabel::dp, "place in data parallelism");
  place("dp_size", &SetupLabel::dp_size, "size of data parallelism");
  place("cp", &SetupLabel::cp, "place in context parallelism");
  place("cp_size", &SetupLabel::cp_size, "size of context parallelism");
  place("ep", &SetupLabel::ep, "place in expert parallelism");
  place("ep_size", &SetupLabel::ep_size, "size of expert parallelism");
  all.push_back(integer_column<Row>("micro_batch_size", "", "sequences in a micro-batch", -1,
                                    [](const Row& row) { return row.label.micro_batch_size; }));
  all.push_back(integer_column<Row>("sequence_length", "", "tokens in a sequence", -1,
                                    [](const Row& row) { return row.label.sequence_length; }));
  all.push_back(text_column<Row>("window_source", "chunk, step, capture or user",
                                 [find = resolver.text](const Row& row) { return find(row.window_source); }));
  all.push_back(text_column<Row>("window_name", "the range or step it is",
                                 [find = resolver.text](const Row& row) { return find(row.window_name); }));
  all.push_back(integer_column<Row>("window_start_ns", "ns", "trace clock", absent_ns,
                                    [](const Row& row) { return row.window.start_ns; }));
  all.push_back(integer_column<Row>("window_end_ns", "ns", "trace clock", absent_ns,
                                    [](const Row& row) { return row.window.end_ns; }));
  all.push_back(column("candidates_count", &Row::candidates_count, "", "chunks or steps it is the middle one of"));
  all.push_back(column("compute_ns", &Row::compute_ns, "ns", "sum of the compute kernels wholly in the window"));
  all.push_back(column("compute_union_ns", &Row::compute_union_ns, "ns", "union of them"));
  all.push_back(column("barrier_ns", &Row::barrier_ns, "ns", "communication on streams with compute"));
  return all;
}

}  // namespace ccl
