#include <cmath>
#include <map>

#include <fmt/format.h>

#include "core/speed_text.hpp"
#include "metrics/communication.hpp"
#include "metrics/hardware.hpp"
#include "metrics/moved.hpp"
#include "metrics/pooled.hpp"

namespace ccl::communicating {
namespace {

double mean_of(std::int64_t sum, std::int64_t count) { return ratio(static_cast<double>(sum), static_cast<double>(count)); }

bool is_latency(const Work& work) { return ccl::is_latency(mean_of(work.timed_bus_bytes, work.timed_count)); }

/// Of `count` calls in all. Where calls are latency, the mean of their times.
std::string shown(const Work& work, std::int64_t bus_bytes, std::int64_t ns, std::int64_t count) {
  const double speed = rate(bus_bytes, ns);
  if (std::isnan(speed)) return "unknown";
  return is_latency(work) ? microseconds(mean_of(ns, count)) : gigabytes_per_s(speed);
}

/// "42.1 GB/s (152 GB/s)", "812 us (23.6 us; latency of 4 B)".
std::string both(const Work& work, const std::string& own, const std::string& transfer) {
  const std::string latency = is_latency(work) ? "latency of " + gigabytes(mean_of(work.timed_bus_bytes, work.timed_count)) : "";
  const std::string in = transfer + (transfer.empty() || latency.empty() ? "" : "; ") + latency;
  return own + (in.empty() ? "" : " (" + in + ")");
}

/// Share of the one-way peak of the link that the bus bytes go over, by transfer time.
double share_of_peak(const BySize& row, const Hardware& hardware) {
  const Peak peak = hardware.link(row.link_class);
  if (!peak.known()) return std::nan("");
  return rate(row.work.matched_bus_bytes, row.work.transfer_ns) *
         link_share(row.op, row.link_class, row.group_size, row.hosts_count) / peak.value;
}

ResultTable size_table(const std::vector<BySize>& rows, const Hardware& hardware) {
  std::vector<ColumnSpec<BySize>> all{
      column("op", &BySize::op, "", "operation"),
      column("link_class", &BySize::link_class, "", "intra or inter host"),
      column("group_size", &BySize::group_size, "", "ranks of the group", -1),
      column("hosts_count", &BySize::hosts_count, "", "hosts of the group", -1),
      column("size_log2", &BySize::size_log2, "", "payloads from 2^size_log2 bytes to below twice that; -1: empty", -1)};
  all = with_work(std::move(all));
  all.push_back(derived<BySize>("share_of_peak_ratio", "", "transfer busbw x its share on the link / one-way peak of the link",
                                [&hardware](const BySize& row) { return share_of_peak(row, hardware); }));
  return make_table("by_size", "communication inside steps by operation, link class, group size and payload", all, rows);
}

void add_operations(const std::vector<ByOp>& rows, Report& out) {
  std::map<CollectiveOp, ByOp> operations;
  for (const ByOp& row : rows) operations[row.op].combine(row);
  std::string line;
  std::vector<std::string> lines;
  for (const auto& [op, row] : operations) {
    const std::string name(to_text(op));
    const double own = rate(row.work.timed_bus_bytes, row.work.timed_ns);
    const double transfer = rate(row.work.matched_bus_bytes, row.work.transfer_ns);
    out.value(name + "_busbw_bytes_per_s", own, "bus bytes / own duration, waiting included");
    out.value(name + "_transfer_busbw_bytes_per_s", transfer, "bus bytes / transfer time");
    const Work& work = row.work;
    const std::string own_text = shown(work, work.timed_bus_bytes, work.timed_ns, work.timed_count),
                      transfer_text = shown(work, work.matched_bus_bytes, work.transfer_ns, work.matched_count);
    if (!std::isnan(own))
      line += (line.empty() ? "" : ", ") + name + " " + both(work, own_text, std::isnan(transfer) ? "" : transfer_text);
    lines.push_back(fmt::format("  {}: {} calls, union {}, exposed {}, payload {}, busbw {}, by transfer time {}", name,
                                row.work.calls_count, milliseconds(static_cast<double>(row.busy.union_ns)),
                                milliseconds(static_cast<double>(row.busy.exposed_ns)),
                                row.work.known() ? gigabytes(static_cast<double>(row.work.payload_bytes)) : "unknown",
                                own_text, transfer_text));
  }
  add_line(out.page, "busbw", line.empty() ? "unknown: no kernel carries a message size" : "with waiting (by transfer time): " + line);
  add_capped(out.details, lines);
}

}  // namespace

void Work::combine(const Work& other) {
  calls_count += other.calls_count;
  sum_ns += other.sum_ns;
  unknown_bytes_count += other.unknown_bytes_count;
  payload_bytes += other.payload_bytes;
  wire_bytes += other.wire_bytes;
  timed_count += other.timed_count;
  timed_payload_bytes += other.timed_payload_bytes;
  timed_bus_bytes += other.timed_bus_bytes;
  timed_ns += other.timed_ns;
  matched_count += other.matched_count;
  matched_payload_bytes += other.matched_payload_bytes;
  matched_bus_bytes += other.matched_bus_bytes;
  transfer_ns += other.transfer_ns;
}

void Row::combine(const Row& other) {
  period_ns += other.period_ns;
  busy.union_ns += other.busy.union_ns;
  busy.exposed_ns += other.busy.exposed_ns;
  work.combine(other.work);
}

void ByOp::combine(const ByOp& other) {
  busy.union_ns += other.busy.union_ns;
  busy.exposed_ns += other.busy.exposed_ns;
  work.combine(other.work);
}

void write_communication_report(const Tables& tables, const ReportContext& context, Report& out) {
  const auto& rows = tables.of<Row>();
  Work all;
  for (const Row& row : rows) all.combine(row.work);
  if (rows.empty()) return out.absent("no GPU event belongs to a step");
  const Hardware hardware = find_hardware(context);
  out.show(size_table(tables.of<BySize>(), hardware));
  if (all.calls_count == 0) return out.not_applicable("no communication kernels inside steps");
  const auto period = [](const Row& row) { return row.period_ns; };
  const PooledRatio share = pooled_ratio(rows, [](const Row& row) { return row.busy.union_ns; }, period);
  const PooledRatio exposed = pooled_ratio(rows, [](const Row& row) { return row.busy.exposed_ns; }, period);
  add_pooled(out, "communication_of_period", share, "communication, of the step period");
  add_pooled(out, "exposed_of_period", exposed, "exposed communication, of the step period");
  out.value("calls_count", static_cast<double>(all.calls_count), "communication kernels inside steps");
  out.value("unknown_bytes_count", static_cast<double>(all.unknown_bytes_count), "of them without a known size");
  if (all.unknown_bytes_count > 0) {
    out.status = Status::partial;
    out.reason = fmt::format("{} of {} kernels carry no message size", all.unknown_bytes_count, all.calls_count);
  }
  add_operations(tables.of<ByOp>(), out);
}

}  // namespace ccl::communicating
