#include "store/text_report.hpp"

#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <utility>

#include "core/speed_text.hpp"
#include "core/statistics.hpp"
#include "core/wording.hpp"
#include "exchange/coverage.hpp"
#include "store/plain_text.hpp"
#include "store/run_facts.hpp"
#include "store/text_file.hpp"

namespace ccl {
namespace {

std::string number(double value, int digits) {
  if (std::isnan(value)) return "unknown";
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  return text.data();
}

std::string time_text(std::time_t now, const char* format) {
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), format, &parts);
  return text.data();
}

/// Letters, digits, '.' and '-' of a model's name; anything else would make a bad file name.
std::string file_word(const std::string& name) {
  std::string out;
  for (const char c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-';
    out += plain ? c : '-';
  }
  return out.empty() ? "x" : out.substr(0, 64);
}

/// One metric's result, or why there is none.
class Found {
 public:
  Found(const Results& results, const std::string& name) {
    for (const MetricResult& metric : results.metrics)
      if (metric.info.name == name) result_ = &metric;
    if (result_ == nullptr) missing_ = name + " was not computed (--metric left it out)";
    else if (result_->report.status != Status::ok && result_->report.status != Status::partial)
      missing_ = result_->report.reason;
  }
  bool known() const { return missing_.empty(); }
  const std::string& missing() const { return missing_; }
  double value(const std::string& name) const {
    for (const Headline& line : result_->report.headlines)
      if (line.name == name) return line.value;
    return std::nan("");
  }
  std::string note(const std::string& name) const {
    for (const Headline& line : result_->report.headlines)
      if (line.name == name) return line.text;
    return "";
  }
  /// Empty table if there is none of the name.
  const ResultTable& table(const std::string& name) const {
    static const ResultTable none;
    for (const auto* tables : {&result_->tables, &result_->report.extra_tables})
      for (const ResultTable& found : *tables)
        if (found.name == name) return found;
    return none;
  }

 private:
  const MetricResult* result_ = nullptr;
  std::string missing_;
};

double real_of(const ResultTable& table, std::int64_t row, const char* column) {
  const Cell cell = cell_at(table, row, column);
  if (const double* value = std::get_if<double>(&cell)) return *value;
  return static_cast<double>(std::get<std::int64_t>(cell));
}
std::string text_of(const ResultTable& table, std::int64_t row, const char* column) {
  return std::get<std::string>(cell_at(table, row, column));
}

class Text {
 public:
  void title(const std::string& text) { out_ += "\n" + text + "\n" + std::string(text.size(), '-') + "\n"; }
  void line(const std::string& label, const std::string& value) {
    std::string padded = "  " + label + ":";
    padded.resize(std::max<std::size_t>(padded.size() + 1, 36), ' ');
    out_ += one_line(padded + value) + "\n";
  }
  void plain(const std::string& text) { out_ += one_line(text) + "\n"; }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

void add_throughput(Text& text, const Results& results) {
  text.title("1. Throughput");
  if (const Found found(results, "throughput_tokens"); found.known()) {
    text.line("Tokens per Second", number(found.value("tokens_per_s"), 2));
    text.line("Tokens per Second per GPU", number(found.value("per_gpu_tokens_per_s"), 2));
    text.line("Samples per Second", number(found.value("samples_per_s"), 4));
    text.line("Inputs", found.note("inputs"));
  } else {
    text.line("Tokens per Second", "unknown: " + found.missing());
  }
  const Found found(results, "iter_time");
  if (!found.known()) return text.line("Time per Iteration", "unknown: " + found.missing());
  const double step_ns = found.value("step_mean_ns"), period_ns = found.value("period_mean_ns");
  text.line("Time per Iteration", std::isnan(step_ns) ? milliseconds(period_ns) + " (GPU period)" : milliseconds(step_ns));
  text.line("Iterations in the traces", std::to_string(run_facts(results).steps_count));
}

void add_overlap(Text& text, const Results& results) {
  text.title("2. Computation-Communication Overlap");
  const Found found(results, "comm_comp_overlap");
  if (!found.known()) return text.line("Overlap", "unknown: " + found.missing());
  text.line("Average Overlap", percent(found.value("overlap_ratio")) + " of communication");
  text.line("Minimum Overlap", percent(found.value("overlap_min_ratio")));
  text.line("Maximum Overlap", percent(found.value("overlap_max_ratio")));
  std::map<std::pair<double, double>, std::pair<double, double>> ranks;  // (replica, rank): overlap, communication
  const ResultTable& rows = found.table("rows");
  for (std::int64_t row = 0; row < rows.rows_count; ++row) {
    auto& sum = ranks[{real_of(rows, row, "replica"), real_of(rows, row, "rank")}];
    sum.first += real_of(rows, row, "overlap_ns");
    sum.second += real_of(rows, row, "communication_ns");
  }
  for (const auto& [rank, sum] : ranks)
    text.line("  " + rank_name(static_cast<std::int32_t>(rank.first), RankId(static_cast<std::int32_t>(rank.second))),
              sum.second == 0 ? "no communication" : percent(sum.first / sum.second));
  text.line("Exposed Communication", percent(found.value("exposed_of_period_ratio")) + " of the step period");
}

void add_load(Text& text, const Results& results) {
  text.title("3. Network Load");
  const Found found(results, "communication");
  if (!found.known()) return text.line("Communication", "unknown: " + found.missing());
  text.line("Communication", percent(found.value("communication_of_period_ratio")) + " of the step period");
  struct Rank {
    double wire_bytes = 0, sum_ns = 0, calls = 0, unknown = 0;
  };
  std::map<std::pair<double, double>, Rank> ranks;
  const ResultTable& rows = found.table("rows");
  for (std::int64_t row = 0; row < rows.rows_count; ++row) {
    Rank& rank = ranks[{real_of(rows, row, "replica"), real_of(rows, row, "rank")}];
    rank.wire_bytes += std::max(0.0, real_of(rows, row, "wire_bytes"));
    rank.sum_ns += real_of(rows, row, "sum_ns");
    rank.calls += real_of(rows, row, "calls_count");
    rank.unknown += real_of(rows, row, "unknown_bytes_count");
  }
  text.plain("  Per rank: data on the wire, summed kernel time, communication operations");
  for (const auto& [key, rank] : ranks) {
    const std::string unknown = rank.unknown == 0 ? "" : ", " + number(rank.unknown, 0) + " of unknown size";
    text.line("  " + rank_name(static_cast<std::int32_t>(key.first), RankId(static_cast<std::int32_t>(key.second))),
              (rank.unknown == rank.calls ? "unknown" : gigabytes(rank.wire_bytes)) + ", " + milliseconds(rank.sum_ns) +
                  ", " + number(rank.calls, 0) + unknown);
  }
  const Found speed(results, "bandwidth");
  if (!speed.known()) return text.line("Bandwidth", "unknown: " + speed.missing());
  text.plain("  Bandwidth (busbw of nccl-tests, by transfer time) and Alpha-Beta model");
  const ResultTable& classes = speed.table("rows");
  for (std::int64_t row = 0; row < classes.rows_count; ++row) {
    const double share = real_of(classes, row, "median_share_of_peak_ratio"), alpha_ns = real_of(classes, row, "alpha_ns"),
                 size_bytes = real_of(classes, row, "median_bus_bytes");
    std::string line = "median " + speed_text(real_of(classes, row, "median_busbw_bytes_per_s"), size_bytes,
                                              real_of(classes, row, "median_transfer_ns"));
    if (!is_latency(size_bytes))
      line += ", p5 " + gigabytes_per_s(real_of(classes, row, "p5_busbw_bytes_per_s")) + ", p95 " +
              gigabytes_per_s(real_of(classes, row, "p95_busbw_bytes_per_s"));
    line += " over " + number(real_of(classes, row, "instances_count"), 0);
    if (!std::isnan(share) && !is_latency(size_bytes)) line += ", " + percent(share) + " of the link's one-way peak";
    if (!std::isnan(alpha_ns))
      line += "; alpha " + microseconds(alpha_ns) + ", beta " + gigabytes_per_s(real_of(classes, row, "beta_bytes_per_s")) +
              ", R2 " + number(real_of(classes, row, "r_squared"), 3);
    text.line("  " + text_of(classes, row, "op") + " " + text_of(classes, row, "dimension") + " " + text_of(classes, row, "link_class"), line);
  }
}

void add_traffic(Text& text, const Results& results) {
  text.title("4. Traffic Distribution");
  const Found found(results, "traffic_distribution");
  if (!found.known()) return text.line("Traffic", "unknown: " + found.missing());
  struct Part {
    double calls = 0, unknown = 0, bytes = 0, time_ns = 0;
  };
  std::map<std::string, Part> operations, dimensions;
  double all_bytes = 0;
  const ResultTable& totals = found.table("/traffic/totals");
  for (std::int64_t row = 0; row < totals.rows_count; ++row) {
    const double bytes = std::max(0.0, real_of(totals, row, "wire_bytes"));
    all_bytes += bytes;
    for (Part* part : {&operations[text_of(totals, row, "op")], &dimensions[text_of(totals, row, "dimension")]}) {
      part->calls += real_of(totals, row, "calls_count");
      part->unknown += real_of(totals, row, "unknown_bytes_count");
      part->bytes += bytes;
      part->time_ns += real_of(totals, row, "time_ns");
    }
  }
  text.line("Total Traffic", gigabytes(all_bytes) + " on the wire, all ranks and steps");
  for (const auto& [heading, parts] : {std::pair("By operation", &operations), std::pair("By parallelism", &dimensions)}) {
    text.plain(std::string("  ") + heading + ": count, data, share of traffic, mean time");
    for (const auto& [name, part] : *parts)
      text.line("  " + name, number(part.calls, 0) + ", " + (part.unknown == part.calls ? "unknown" : gigabytes(part.bytes)) +
                                 ", " + (all_bytes > 0 ? percent(part.bytes / all_bytes) : "unknown") + ", " +
                                 milliseconds(part.time_ns / part.calls) +
                                 (part.unknown > 0 ? ", " + number(part.unknown, 0) + " of unknown size" : ""));
  }
}

}  // namespace

std::string text_report_name(const Results& results, std::time_t now) {
  const Workload& workload = results.input.workload;
  const Mesh& mesh = workload.mesh;
  const auto size = [&](std::int32_t value) { return mesh.known() ? std::to_string(value) : std::string("x"); };
  std::string further;  // sizes that most runs do not have
  for (const auto& [name, value] : {std::pair("pp", mesh.pp), std::pair("cp", mesh.cp), std::pair("ep", mesh.ep)})
    if (mesh.known() && value > 1) further += std::string("_") + name + std::to_string(value);
  const std::int64_t world = results.ranks.world_size > 0 ? results.ranks.world_size : results.ranks.expected;
  return time_text(now, "%Y%m%d-%H%M%S") + "_" + file_word(workload.model.value.value_or("")) + "_dp" +
         size(mesh.dp_replicate) + "x" + size(mesh.dp_shard) + "_tp" + size(mesh.tp) + further + "_gpu" +
         (world > 0 ? std::to_string(world) : "x") + ".txt";
}

std::string text_report(const Results& results, std::time_t now) {
  Text text;
  const std::string mesh = mesh_text(results.input.workload.mesh);
  text.plain("Collective communication report, " + time_text(now, "%Y-%m-%d %H:%M:%S UTC"));
  text.line("Traces", results.input.root + ", " + counted(results.input.files.size(), "file"));
  text.line("Model", results.input.workload.model.value.value_or("unknown"));
  text.line("Parallelism", mesh.empty() ? "unknown" : mesh);
  text.line("Ranks", coverage_text(results.ranks, "analysed", &results.input));
  add_throughput(text, results);
  add_overlap(text, results);
  add_load(text, results);
  add_traffic(text, results);
  text.title("5. Everything the page says");
  return text.take() + whole_page(results);
}

std::string write_text_report(const Results& results, std::time_t now) {
  namespace fs = std::filesystem;
  const fs::path folder(results.config.output.report_dir);
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    throw FatalError(ExitCode::runtime_failure,
                     "--report-dir '" + folder.string() + "' cannot be made (" + error.message() + ")");
  const fs::path name(text_report_name(results, now));
  fs::path path = folder / name;
  for (int copy = 2; fs::exists(path, error); ++copy)
    path = folder / (name.stem().string() + "-" + std::to_string(copy) + ".txt");
  write_text_file("text report", path.string(), text_report(results, now));
  return path.string();
}

}  // namespace ccl
