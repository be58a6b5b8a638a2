// Page, details and headlines of memory, from its rows.
#include <algorithm>
#include <cmath>
#include <map>

#include "core/statistics.hpp"
#include "metrics/memory.hpp"
#include "metrics/pooled.hpp"

namespace ccl::memory_rows {
namespace {

std::string name_of(const Row& row, const StringTable& strings) {
  const std::string file(strings.text(row.owner.name));
  std::string name = row.rank.known() ? rank_name(row.owner.replica, row.rank) : file;
  return row.owner.device == 0 ? name : name + " GPU " + std::to_string(row.owner.device);
}

std::string bytes_text(std::int64_t bytes) { return bytes < 0 ? "unknown" : gigabytes(static_cast<double>(bytes)); }

/// The GPU's memory as the traces of the rank tell it; −1 if none does.
std::int64_t limit_of(const Row& row, const Ranks& ranks) {
  for (const RankEntry& entry : ranks.entries)
    if (entry.rank == row.rank && entry.replica == row.owner.replica && entry.facts.gpu_memory_bytes > 0)
      return entry.facts.gpu_memory_bytes;
  return -1;
}

/// The largest of a number over the rows; ties: the first row.
template <class Value>
const Row& largest(const std::vector<Row>& rows, Value value) {
  return *std::max_element(rows.begin(), rows.end(), [&](const Row& a, const Row& b) { return value(a) < value(b); });
}

void add_limit(const std::vector<Row>& rows, const ReportContext& context, Report& out) {
  const Row* nearest = nullptr;
  double most = -1;
  for (const Row& row : rows) {
    const std::int64_t limit = limit_of(row, context.ranks);
    if (limit <= 0) continue;
    const double used = static_cast<double>(row.most_reserved_bytes()) / static_cast<double>(limit);
    if (used > most) most = used, nearest = &row;
  }
  if (nearest == nullptr) return;
  const std::int64_t limit = limit_of(*nearest, context.ranks);
  out.value("nearest_to_limit_ratio", most, "largest peak reserved / memory of the GPU");
  out.value("nearest_to_limit_rank", nearest->rank.value, "rank with the largest");
  add_line(out.page, "",
           name_of(*nearest, context.strings) +
               " is nearest to its limit: " + bytes_text(nearest->most_reserved_bytes()) + " of " + bytes_text(limit) +
               " reserved (" + percent(most) + ")");
}

void add_failures(const Tables& tables, const ReportContext& context, Report& out) {
  const std::vector<Failure>& failures = tables.of<Failure>();
  out.value("out_of_memory_count", static_cast<double>(failures.size()), "requests that failed");
  if (failures.empty()) return;
  const Failure& first = failures.front();
  const std::string who = first.owner.rank.known() ? rank_name(first.owner.replica, first.owner.rank)
                                                   : std::string(context.strings.text(first.owner.name));
  add_line(out.page, "",
           "OUT OF MEMORY " + counted(failures.size(), "time") + ": first " + who + " asked for " +
               bytes_text(first.what.asked_bytes) + " with " + bytes_text(first.what.free_bytes) + " free");
}

void add_details(const Tables& tables, const ReportContext& context, Report& out) {
  std::map<Owner, std::vector<const Top*>> sites;
  for (const Top& top : tables.of<Top>()) sites[top.owner].push_back(&top);
  std::map<Owner, std::int64_t> split;
  for (const ByPool& pool : tables.of<ByPool>()) split[pool.owner] += pool.pool.inactive_split_bytes;
  std::vector<std::string> lines;
  for (const Row& row : tables.of<Row>()) {
    lines.push_back("  " + name_of(row, context.strings) + " (" + std::string(context.strings.text(row.owner.name)) +
                    "): peak active " + bytes_text(row.peak_active_bytes) + ", requested " +
                    bytes_text(row.peak_requested_bytes) + ", reserved " + bytes_text(row.peak_reserved_bytes));
    lines.push_back("    at the dump: reserved " + bytes_text(row.reserved_bytes) + ", active " +
                    bytes_text(row.active_bytes) + ", inactive beside active " + bytes_text(split[row.owner]) + "; " +
                    std::to_string(row.allocations_count) + " allocations, " +
                    std::to_string(row.segment_allocations_count) + " calls of cudaMalloc");
    std::size_t shown = 0;
    for (const Top* top : sites[row.owner]) {
      if (top->function == StringId() || ++shown > 3) continue;
      lines.push_back("    " + bytes_text(top->at_peak_bytes) + " at the peak from " +
                      std::string(context.strings.text(top->function)) + " (" +
                      std::string(context.strings.text(top->source)) + ":" + std::to_string(top->line) + ")");
    }
  }
  add_capped(out.details, lines);
}

/// Largest peak of each known rank.
std::vector<double> peaks_of_ranks(const std::vector<Row>& rows) {
  std::map<RankKey, double> largest_of;
  for (const Row& row : rows) {
    if (!row.rank.known()) continue;
    double& peak = largest_of[{row.owner.replica, row.rank}];
    peak = std::max(peak, static_cast<double>(row.most_active_bytes()));
  }
  std::vector<double> peaks;
  for (const auto& [rank, peak] : largest_of) peaks.push_back(peak);
  return peaks;
}

/// No snapshot at all: peaks as the profiler reported them.
void report_in_trace(const std::vector<InTrace>& rows, const ReportContext& context, Report& out) {
  std::map<RankKey, std::int64_t> peaks;
  const InTrace* most = &rows.front();
  std::int64_t reserved = -1;
  for (const InTrace& row : rows) {
    std::int64_t& peak = peaks[{row.replica, row.rank}];
    peak = std::max(peak, row.most_bytes());
    reserved = std::max(reserved, row.peak_reserved_bytes);
    if (row.most_bytes() > most->most_bytes()) most = &row;
  }
  std::vector<double> values;
  for (const auto& [rank, peak] : peaks) values.push_back(static_cast<double>(peak));
  const double average = mean(values);
  out.value("peak_allocated_bytes",
            most->peak_allocated_bytes < 0 ? std::nan("") : static_cast<double>(most->peak_allocated_bytes),
            "largest over ranks; in use, as the traces tell it");
  out.value("peak_rank", most->rank.value, "rank with the largest");
  out.value("peak_reserved_bytes", reserved < 0 ? std::nan("") : static_cast<double>(reserved),
            "largest over ranks; taken from the device");
  std::string line = "peak " + bytes_text(most->most_bytes()) +
                     (most->peak_allocated_bytes < 0 ? " taken (" : " in use (") +
                     rank_name(most->replica, most->rank) + ")";
  if (most->peak_allocated_bytes >= 0) line += ", reserved up to " + bytes_text(reserved);
  line += "; as the profiler reported it, no snapshot";
  if (values.size() > 1) {
    const double imbalance = ratio(static_cast<double>(most->most_bytes()) - average, average);
    out.value("imbalance_ratio", imbalance, "(largest - mean) / mean of the peaks of the ranks");
    line += "; imbalance " + percent(imbalance);
  }
  Row fullest;
  fullest.rank = most->rank;
  fullest.owner.replica = most->replica;
  if (const std::int64_t limit = limit_of(fullest, context.ranks); limit > 0)
    line += "; the GPU has " + bytes_text(limit);
  add_line(out.page, "memory", line);
  CappedLines lines;
  for (const InTrace& row : rows)
    lines.add([&] {
      return "  " + step_name(row.step) + ", " + rank_name(row.replica, row.rank) + ": peak " +
             bytes_text(row.peak_allocated_bytes) + " in use, " + bytes_text(row.peak_reserved_bytes) +
             " reserved";
    });
  lines.add_to(out.details);
}

/// What the peaks do not cover, in words; empty when they cover all.
std::string doubts(const std::vector<Row>& rows) {
  std::size_t without = 0, late = 0, full = 0, guessed = 0;
  for (const Row& row : rows) {
    without += row.entries_count == 0 ? 1 : 0;
    late += row.start_reserved_bytes > 0 ? 1 : 0;
    full += row.ring_full == RingEvidence::proven || row.cut ? 1 : 0;
    guessed += row.ring_full == RingEvidence::guessed && !row.cut ? 1 : 0;
  }
  std::string text;
  const auto say = [&](std::size_t count, const char* what) {
    if (count > 0)
      text +=
          (text.empty() ? "" : "; ") + std::to_string(count) + " of " + counted(rows.size(), "snapshot") + " " + what;
  };
  say(without, "without a history: state at the dump only");
  say(full, "with a full ring: older peaks are lost");
  say(guessed, "with as many entries as a ring may hold: older peaks may be lost");
  say(late, "recorded from mid-run: peaks of that window");
  return text;
}

}  // namespace

void report(const Tables& tables, const ReportContext& context, Report& out) {
  const std::vector<Row>& rows = tables.of<Row>();
  if (rows.empty() && !tables.of<InTrace>().empty()) return report_in_trace(tables.of<InTrace>(), context, out);
  if (rows.empty()) return out.absent("no memory snapshot among the files, and no trace reports memory");
  const auto active = [](const Row& row) { return row.most_active_bytes(); };
  const auto reserved = [](const Row& row) { return row.most_reserved_bytes(); };
  const Row& most = largest(rows, active);
  const std::vector<double> peaks = peaks_of_ranks(rows);
  out.ranks_covered = static_cast<std::int64_t>(peaks.size());
  const double average = mean(peaks);
  const double imbalance =
      peaks.size() > 1 ? ratio(*std::max_element(peaks.begin(), peaks.end()) - average, average) : std::nan("");
  std::int64_t active_sum = 0, reserved_sum = 0;
  for (const Row& row : rows) active_sum += row.active_bytes, reserved_sum += row.reserved_bytes;
  out.value("peak_active_bytes", static_cast<double>(active(most)), "largest over ranks; of blocks in use");
  out.value("peak_active_rank", most.rank.value, "rank with the largest");
  const std::int64_t requested =
      largest(rows, [](const Row& r) { return r.peak_requested_bytes; }).peak_requested_bytes;
  out.value("peak_requested_bytes", requested < 0 ? std::nan("") : static_cast<double>(requested),
            "largest over ranks; in asked sizes");
  out.value("peak_reserved_bytes", static_cast<double>(reserved(largest(rows, reserved))),
            "largest over ranks; taken from the device");
  out.value("imbalance_ratio", imbalance, "(largest - mean) / mean of the peaks of the ranks");
  out.value("efficiency_ratio", ratio(static_cast<double>(active_sum), static_cast<double>(reserved_sum)),
            "active / reserved at the dump, over all devices");
  std::string line = "peak " + bytes_text(active(most)) + " in use (" + name_of(most, context.strings) + ")";
  if (peaks.size() > 1)
    line +=
        ", mean " + gigabytes(average) + " over " + counted(peaks.size(), "rank") + ", imbalance " + percent(imbalance);
  line += "; reserved up to " + bytes_text(reserved(largest(rows, reserved))) + "; " +
          percent(ratio(static_cast<double>(active_sum), static_cast<double>(reserved_sum))) +
          " of the reserved memory in use at the dump";
  add_line(out.page, "memory", line);
  add_limit(rows, context, out);
  add_failures(tables, context, out);
  if (const std::string text = doubts(rows); !text.empty()) add_line(out.page, "", text);
  add_details(tables, context, out);
}

}  // namespace ccl::memory_rows
