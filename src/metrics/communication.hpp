// The rows of communication: communication.cpp fills them, communication_report.cpp writes the page from them.
#pragma once
#include "core/statistics.hpp"
#include "metrics/format.hpp"
#include "metrics/metric.hpp"

namespace ccl::communicating {

/// Sums over communication kernels. timed: of known size in groups of at least two; matched: of these, with a transfer
/// time (the shortest duration over the members).
struct Work {
  std::int64_t calls_count = 0, sum_ns = 0, unknown_bytes_count = 0;
  std::int64_t payload_bytes = 0, wire_bytes = 0;
  std::int64_t timed_count = 0, timed_payload_bytes = 0, timed_bus_bytes = 0, timed_ns = 0;
  std::int64_t matched_count = 0, matched_payload_bytes = 0, matched_bus_bytes = 0, transfer_ns = 0;
  void combine(const Work& other);
  bool known() const { return unknown_bytes_count < calls_count; }
};

inline double rate(std::int64_t bytes, std::int64_t ns) {
  return ratio(static_cast<double>(bytes) * 1e9, static_cast<double>(ns));
}

template <class Row>
std::vector<ColumnSpec<Row>> with_work(std::vector<ColumnSpec<Row>> all) {
  const auto count = [&](const char* name, std::int64_t Work::*member, const char* unit, const char* description) {
    all.push_back(integer_column<Row>(name, unit, description, {}, [member](const Row& row) { return row.work.*member; }));
  };
  const auto bytes = [&](const char* name, std::int64_t Work::*member, const char* description) {
    all.push_back(integer_column<Row>(name, "bytes", description, -1, [member](const Row& row) {
      return row.work.calls_count > 0 && !row.work.known() ? -1 : row.work.*member;
    }));
  };
  const auto speed = [&](const char* name, std::int64_t Work::*moved, std::int64_t Work::*ns, const char* description) {
    all.push_back(derived<Row>(name, "bytes_per_s", description,
                               [=](const Row& row) { return rate(row.work.*moved, row.work.*ns); }));
  };
  count("calls_count", &Work::calls_count, "", "communication kernels");
  count("sum_ns", &Work::sum_ns, "ns", "sum of their durations: work, not time");
  count("unknown_bytes_count", &Work::unknown_bytes_count, "", "kernels without a known size: in no byte column");
  bytes("payload_bytes", &Work::payload_bytes, "sum of payloads S (nccl-tests)");
  bytes("wire_bytes", &Work::wire_bytes, "sum of bytes on the wire; a message counts on both ends");
  count("matched_count", &Work::matched_count, "", "kernels of known size with a transfer time");
  count("transfer_ns", &Work::transfer_ns, "ns", "sum of their transfer times: transfer_ns of /collectives/instances");
  speed("algbw_bytes_per_s", &Work::timed_payload_bytes, &Work::timed_ns, "payload / own duration, waiting included");
  speed("busbw_bytes_per_s", &Work::timed_bus_bytes, &Work::timed_ns, "bus bytes / own duration, waiting included");
  speed("transfer_algbw_bytes_per_s", &Work::matched_payload_bytes, &Work::transfer_ns, "payload / transfer time");
  speed("transfer_busbw_bytes_per_s", &Work::matched_bus_bytes, &Work::transfer_ns, "bus bytes / transfer time");
  return all;
}

/// Busy times of a part of the communication on one rank, devices added.
struct Busy {
  std::int64_t union_ns = 0, exposed_ns = 0;
};

template <class Row>
std::vector<ColumnSpec<Row>> with_busy(std::vector<ColumnSpec<Row>> all) {
  all.push_back(integer_column<Row>("union_ns", "ns", "union of the kernels on each device, summed over devices", {},
                                    [](const Row& row) { return row.busy.union_ns; }));
  all.push_back(integer_column<Row>("exposed_ns", "ns", "part of union_ns without compute", {},
                                    [](const Row& row) { return row.busy.exposed_ns; }));
  return all;
}

struct Row {
  StepId step;
  RankId rank;
  std::int32_t replica = -1;
  std::int64_t period_ns = 0;
  Busy busy;
  Work work;
  auto key() const { return std::tuple(step, rank, replica); }
  void combine(const Row& other);
  static TableInfo table() { return {"rows", "communication of each step on each rank"}; }
  static std::vector<ColumnSpec<Row>> columns(const Resolver&) {
    std::vector<ColumnSpec<Row>> all = with_busy(key_columns<Row>());
    all.push_back(column("period_ns", &Row::period_ns, "ns", "gap + GPU window, summed over devices"));
    all.push_back(derived<Row>("communication_of_period_ratio", "", "union_ns / period_ns", [](const Row& row) {
      return ratio(static_cast<double>(row.busy.union_ns), static_cast<double>(row.period_ns));
    }));
    return with_work(std::move(all));
  }
};

struct ByOp {
  StepId step;
  RankId rank;
  std::int32_t replica = -1;
  CollectiveOp op = CollectiveOp::unknown;
  Busy busy;
  Work work;
  auto key() const { return std::tuple(step, rank, replica, op); }
  void combine(const ByOp& other);
  static TableInfo table() { return {"by_op", "the same by operation"}; }
  static std::vector<ColumnSpec<ByOp>> columns(const Resolver&) {
    std::vector<ColumnSpec<ByOp>> all = key_columns<ByOp>();
    all.push_back(column("op", &ByOp::op, "", "operation"));
    return with_work(with_busy(std::move(all)));
  }
};

/// Not written as it is: report() adds the link's peak. Steps only; kernels without a known size are in no bucket.
struct BySize {
  CollectiveOp op = CollectiveOp::unknown;
  LinkClass link_class = LinkClass::unknown;
  std::int32_t group_size = -1, hosts_count = -1;
  std::int32_t size_log2 = -1;  // floor(log2 payload); −1 for payload 0
  Work work;
  auto key() const { return std::tuple(op, link_class, group_size, hosts_count, size_log2); }
  void combine(const BySize& other) { work.combine(other.work); }
  static TableInfo table() { return {}; }
  static std::vector<ColumnSpec<BySize>> columns(const Resolver&) { return {}; }
};

using Tables = RowTables<Row, ByOp, BySize>;

/// Status, headlines, page and long form.
void write_communication_report(const Tables& tables, const ReportContext& context, Report& out);

}  // namespace ccl::communicating
