#include "compare/figures.hpp"

#include <algorithm>
#include <cmath>

namespace ccl {
namespace {

constexpr Better lower = Better::lower, higher = Better::higher, neither = Better::neither;

Figure of_rows(const char* metric, const char* label, const char* column, Fold fold, Unit unit, Better better) {
  return {metric, "rows", label, column, "", fold, unit, better, {}, "", false};
}
Figure share(const char* metric, const char* label, const char* part, const char* whole, Better better) {
  return {metric, "rows", label, part, whole, Fold::total, Unit::ratio, better, {}, "", false};
}
Figure split(const char* section, const char* metric, const char* table, const char* label,
             std::vector<std::string> key, const char* column, const char* per, Unit unit, Better better) {
  return {metric, table,  label,          column,  per,  *per == '\0' ? Fold::mean : Fold::total,
          unit,   better, std::move(key), section, false};
}

Figure across(Figure figure) {
  figure.basis = Basis::across_ranks;
  return figure;
}
Figure matched(Figure figure) {
  figure.basis = Basis::matching;
  return figure;
}
Figure of_markers(Figure figure) {
  figure.basis = Basis::markers;
  return figure;
}

struct Sum {
  double numerator = 0, denominator = 0, largest = -INFINITY;
  std::int64_t rows = 0;
};

double folded(const Sum& sum, const Figure& figure) {
  if (!figure.denominator.empty()) return sum.denominator == 0 ? NAN : sum.numerator / sum.denominator;
  switch (figure.fold) {
    case Fold::largest: return sum.largest;
    case Fold::total: return sum.numerator;
    case Fold::mean: break;
  }
  return sum.numerator / static_cast<double>(sum.rows);
}

/// "fp32_gemm void cutlass...": the values of the key columns, groups by what they are instead of by their row.
std::vector<std::string> keys_of(const StoredRun& run, const StoredTable& table, const Figure& figure) {
  std::vector<std::string> keys(static_cast<std::size_t>(table.rows_count()));
  for (const std::string& column : figure.key) {
    const std::vector<std::string> texts = table.texts(column);
    const std::vector<std::string> groups = column == "group" ? run.group_names() : std::vector<std::string>();
    for (std::size_t i = 0; i < keys.size(); ++i) {
      std::string text = texts[i];
      if (column == "group") {
        const std::size_t row = static_cast<std::size_t>(std::strtoll(text.c_str(), nullptr, 10));
        text = row < groups.size() ? groups[row] : "unknown group";
      }
      keys[i] += (keys[i].empty() ? "" : ", ") + (column == "rank" ? "rank " + text : text);
    }
  }
  return keys;
}

}  // namespace

std::string rate_unit(const Figure& figure) {
  const std::string thing = figure.numerator.substr(0, figure.numerator.rfind("_per_s"));
  return thing.substr(thing.rfind('_') + 1) + "/s";
}

const std::vector<Figure>& key_figures() {
  static const std::vector<Figure> all{
      of_rows("iter_time", "step time, slowest rank", "step_ns", Fold::largest, Unit::ns, lower),
      of_rows("iter_time", "period on the GPU, slowest rank", "period_ns", Fold::largest, Unit::ns, lower),
      {"throughput_tokens",
       "by_step",
       "throughput",
       "tokens_per_s",
       "",
       Fold::mean,
       Unit::per_second,
       higher,
       {},
       "",
       false,
       Basis::markers},
      of_markers(of_rows("mfu", "model FLOP utilization", "mfu_ratio", Fold::mean, Unit::ratio, higher)),
      of_rows("comm_comp_overlap", "exposed communication per GPU and step", "exposed_ns", Fold::mean, Unit::ns, lower),
      share("comm_comp_overlap", "overlapped share of communication", "overlap_ns", "communication_ns", higher),
      of_rows("comm_comp_overlap", "compute per GPU and step", "compute_ns", Fold::mean, Unit::ns, lower),
      of_rows("comm_comp_overlap", "communication per GPU and step", "communication_ns", Fold::mean, Unit::ns, lower),
      share("gpu_utilization", "busy share of the period", "busy_ns", "period_ns", higher),
      matched(of_rows("straggler_lag", "wait for late ranks per rank and step", "wait_ns", Fold::mean, Unit::ns, lower)),
      matched(of_rows("straggler_lag", "blame of the latest rank of a step", "blame_ns", Fold::largest, Unit::ns, lower)),
      matched(of_rows("communication", "transfer bus bandwidth", "transfer_busbw_bytes_per_s", Fold::mean,
                     Unit::bytes_per_second, higher)),
      of_rows("traffic_distribution", "bytes on the wire per rank and step", "wire_bytes", Fold::mean, Unit::bytes, neither),
      of_rows("coll_call_num", "communication calls per rank and step", "calls_count", Fold::mean, Unit::count, neither),
      across(share("pipeline_bubble", "pipeline bubble", "bubble_ns", "window_ns", lower)),
      of_rows("efficiency", "parallel efficiency", "parallel_efficiency_ratio", Fold::mean, Unit::ratio, higher),
      share("blocking_comm", "blocking communication", "blocking_ns", "period_ns", lower),
      share("blocking_comm", "launch-starved", "launch_starved_ns", "period_ns", lower),
      of_rows("training_phases", "forward per GPU and step", "forward_ns", Fold::mean, Unit::ns, lower),
      of_rows("training_phases", "backward per GPU and step", "backward_ns", Fold::mean, Unit::ns, lower),
      of_rows("training_phases", "optimizer per GPU and step", "optimizer_ns", Fold::mean, Unit::ns, lower),
      {"microbatch", "by_phase", "time of a micro-batch", "wall_ns", "", Fold::mean, Unit::ns, lower, {}, "", false},
      matched(share("critical_path", "communication on the critical path", "communication_ns", "length_ns", lower)),
      {"what_if",
       "rows",
       "slowdown against peers (what if)",
       "replayed_ns",
       "ideal_ns",
       Fold::total,
       Unit::factor,
       lower,
       {},
       "",
       false,
       Basis::matching},
      of_rows("memory", "peak of memory in use, per rank", "peak_active_bytes", Fold::mean, Unit::bytes, lower),
      of_rows("memory", "peak of memory reserved, per rank", "peak_reserved_bytes", Fold::mean, Unit::bytes, lower),
      {"memory",
       "in_trace",
       "peak of memory in use, from the trace",
       "peak_allocated_bytes",
       "",
       Fold::largest,
       Unit::bytes,
       lower,
       {},
       "",
       false},
      of_rows("fsdp", "stall for parameters per GPU and step", "stall_ns", Fold::mean, Unit::ns, lower),
      of_rows("sm", "SM coverage of compute kernels", "compute_coverage_ratio", Fold::mean, Unit::ratio, higher),
  };
  return all;
}

const std::vector<Figure>& split_figures() {
  static const std::vector<Figure> all = [] {
    std::vector<Figure> figures{
        split("ranks", "iter_time", "rows", "period on the GPU", {"rank"}, "period_ns", "", Unit::ns, lower),
        split("ranks", "comm_comp_overlap", "rows", "compute", {"rank"}, "compute_ns", "", Unit::ns, lower),
        matched(split("ranks", "straggler_lag", "rows", "blame", {"rank"}, "blame_ns", "", Unit::ns, lower)),
        split("operations", "communication", "by_op", "time per call", {"op"}, "sum_ns", "calls_count", Unit::ns,
              lower),
        matched(split("operations", "communication", "by_op", "transfer bus bandwidth", {"op"},
                     "transfer_busbw_bytes_per_s", "", Unit::bytes_per_second, higher)),
        split("dimensions", "comm_comp_overlap", "by_dimension", "exposed communication", {"dimension"}, "exposed_ns",
              "", Unit::ns, lower),
        split("groups", "traffic_distribution", "by_group", "time per call", {"group", "op"}, "time_ns", "calls_count",
              Unit::ns, lower),
        split("groups", "traffic_distribution", "by_group", "bytes on the wire per rank", {"group", "op"}, "wire_bytes",
              "", Unit::bytes, neither),
        split("phases", "training_phases", "by_phase", "GPU time", {"phase"}, "union_ns", "", Unit::ns, lower),
        split("micro-batches", "microbatch", "by_phase", "length", {"direction"}, "wall_ns", "", Unit::ns,
              lower),
        split("ranks", "memory", "by_step", "memory peak", {"rank"}, "peak_active_bytes", "", Unit::bytes, lower),
        split("passes", "ttft", "passes", "time of a pass", {"kind"}, "dur_ns", "", Unit::ns, lower),
        split("passes", "tpot", "passes", "time of a pass", {"kind"}, "dur_ns", "", Unit::ns, lower),
        split("kernels", "kernel", "rows", "time per launch", {"class", "name"}, "sum_ns", "count", Unit::ns, lower),
        split("kernels", "kernel", "rows", "launches per step", {"class", "name"}, "count", "", Unit::count, neither),
    };
    figures.back().per_step = true;
    return figures;
  }();
  return all;
}

std::map<std::string, std::vector<double>> samples(const StoredRun& run, const Figure& figure, const RowFilter& filter) {
  if (!run.status(figure.metric).has_values()) return {};  // the rows of what the run calls unknown hold anything
  const std::string path = "/metrics/" + figure.metric + "/" + figure.table;
  if (!run.has_table(path)) return {};
  const StoredTable table = run.table(path);
  for (const std::string& column : figure.key)
    if (!table.has(column)) return {};
  if (!table.is_number(figure.numerator)) return {};
  if (!figure.denominator.empty() && !table.is_number(figure.denominator)) return {};

  const bool by_step = table.has("step"), by_rank = table.has("rank");
  const std::vector<double> numerator = table.numbers(figure.numerator);
  const std::vector<double> denominator = figure.denominator.empty() ? numerator : table.numbers(figure.denominator);
  const std::vector<double> iteration = table.numbers("iteration"), step = table.numbers("step"),
                            rank = table.numbers("rank"), replica = table.numbers("replica");
  const auto part = [](double value) { return std::isnan(value) ? -1.0 : value; };
  const std::vector<std::string> keys = keys_of(run, table, figure);
  std::map<std::string, std::map<std::array<double, 3>, Sum>> sums;
  for (std::size_t i = 0; i < numerator.size(); ++i) {
    if (by_step && (std::isnan(step[i]) || step[i] < 0)) continue;
    if (std::isnan(numerator[i]) || std::isnan(denominator[i])) continue;
    if (!filter.keeps_all() && figure.basis != Basis::markers) {
      const StepKey of_step{part(iteration[i]), by_step ? step[i] : -1};
      const RankKey of_rank{part(replica[i]), by_rank ? rank[i] : -1};
      const bool over_ranks = !by_rank || (by_step && (figure.basis == Basis::across_ranks || figure.basis == Basis::matching));
      const bool kept = over_ranks ? by_step && filter.keeps_step(of_step)
                        : by_step  ? filter.keeps(of_step, of_rank)
                                   : filter.keeps_rank(of_rank);
      if (!kept) continue;
    }
    const std::array<double, 3> repetition{part(iteration[i]), by_step ? step[i] : part(rank[i]),
                                           by_step ? -1 : part(replica[i])};
    Sum& sum = sums[keys[i]][repetition];
    sum.numerator += numerator[i];
    sum.denominator += denominator[i];
    sum.largest = std::max(sum.largest, numerator[i]);
    ++sum.rows;
  }
  std::map<std::string, std::vector<double>> all;
  for (const auto& [key, of_key] : sums)
    for (const auto& [repetition, sum] : of_key) {
      const double steps = figure.per_step ? static_cast<double>(std::max<std::int64_t>(1, run.steps_count())) : 1;
      const double value = folded(sum, figure) / steps;
      if (!std::isnan(value)) all[key].push_back(value);
    }
  return all;
}

}  // namespace ccl
