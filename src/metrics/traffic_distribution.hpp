// The rows of traffic_distribution, shared by its two halves: traffic_distribution.cpp fills them, the page is written
// from them in traffic_report.cpp.
#pragma once
#include "metrics/format.hpp"
#include "metrics/metric.hpp"

namespace ccl::traffic {

/// Sums over communication kernels. Unknown sizes are counted, never taken as 0 bytes.
struct Volume {
  std::int64_t calls_count = 0, unknown_bytes_count = 0, time_ns = 0;
  std::int64_t in_bytes = 0, out_bytes = 0, payload_bytes = 0, wire_bytes = 0;
  void combine(const Volume& other);
  bool known() const { return unknown_bytes_count < calls_count; }
};

template <class Row>
std::vector<ColumnSpec<Row>> with_bytes(std::vector<ColumnSpec<Row>> all) {
  const auto add = [&](const char* name, std::int64_t Volume::*member, const char* description) {
    all.push_back(integer_column<Row>(name, "bytes", description, -1, [member](const Row& row) {
      return row.bytes.calls_count > 0 && !row.bytes.known() ? -1 : row.bytes.*member;
    }));
  };
  all.push_back(integer_column<Row>("calls_count", "", "communication kernels", {},
                                    [](const Row& row) { return row.bytes.calls_count; }));
  all.push_back(integer_column<Row>("unknown_bytes_count", "", "of them without a known size: in no byte column", {},
                                    [](const Row& row) { return row.bytes.unknown_bytes_count; }));
  add("in_bytes", &Volume::in_bytes, "sum of input sizes");
  add("out_bytes", &Volume::out_bytes, "sum of output sizes");
  add("payload_bytes", &Volume::payload_bytes, "sum of payloads S (nccl-tests)");
  add("wire_bytes", &Volume::wire_bytes, "sum of bytes put on the wire by the bandwidth-optimal algorithm");
  all.push_back(
      integer_column<Row>("time_ns", "ns", "sum of durations", {}, [](const Row& row) { return row.bytes.time_ns; }));
  return all;
}

struct Row {
  StepId step;
  RankId rank;
  std::int32_t replica = -1;
  Volume bytes;
  auto key() const { return std::tuple(step, rank, replica); }
  static TableInfo table() { return {"rows", "communication of each step on each rank"}; }
  static std::vector<ColumnSpec<Row>> columns(const Resolver&) { return with_bytes(key_columns<Row>()); }
};

struct ByGroup {
  StepId step;  // −1: kernels outside every step
  RankId rank;
  std::int32_t replica = -1;
  GroupId group;
  CollectiveOp op = CollectiveOp::unknown;
  Dtype dtype = Dtype::unknown;
  LinkClass link_class = LinkClass::unknown;
  Dimension dimension = Dimension::unknown;
  Volume bytes;
  auto key() const { return std::tuple(step, rank, replica, group, op, dtype, link_class); }
  void combine(const ByGroup& other) { bytes.combine(other.bytes); }
  static TableInfo table() { return {"by_group", "the same by dimension, operation, type, group and link class"}; }
  static std::vector<ColumnSpec<ByGroup>> columns(const Resolver& resolver) {
    std::vector<ColumnSpec<ByGroup>> all = key_columns<ByGroup>();
    all.push_back(column("dimension", &ByGroup::dimension, "", "parallelism the group serves"));
    all.push_back(column("op", &ByGroup::op, "", "operation"));
    all.push_back(column("dtype", &ByGroup::dtype, "", "element type"));
    all.push_back(group_column<ByGroup>(resolver));
    all.push_back(column("link_class", &ByGroup::link_class, "", "intra or inter host, by the members' hosts"));
    return with_bytes(std::move(all));
  }
};

/// Over all ranks and steps, kernels outside every step not included.
struct Total {
  std::int32_t iteration = -1;
  Dimension dimension = Dimension::unknown;
  CollectiveOp op = CollectiveOp::unknown;
  LinkClass link_class = LinkClass::unknown;
  Volume bytes;
  auto key() const { return std::tuple(iteration, dimension, op, link_class); }
  void combine(const Total& other) { bytes.combine(other.bytes); }
  static TableInfo table() {
    return {"/traffic/totals", "summed over ranks and steps, by dimension, operation and link class", true};
  }
  static std::vector<ColumnSpec<Total>> columns(const Resolver&) {
    std::vector<ColumnSpec<Total>> all = key_columns<Total>();
    all.push_back(column("dimension", &Total::dimension, "", "parallelism the groups serve"));
    all.push_back(column("op", &Total::op, "", "operation"));
    all.push_back(column("link_class", &Total::link_class, "", "intra or inter host"));
    return with_bytes(std::move(all));
  }
};

/// Who sends to whom, where the traces say so: send, recv and all-to-all with split sizes. The whole file.
struct Pair {
  std::int32_t iteration = -1, replica = -1;
  std::int32_t source = -1, destination = -1;
  LinkClass link_class = LinkClass::unknown;
  std::int64_t sent_count = 0, sent_bytes = 0, received_count = 0, received_bytes = 0;
  auto key() const { return std::tuple(iteration, replica, source, destination); }
  void combine(const Pair& other);
  static TableInfo table() {
    return {"/traffic/matrix", "bytes from rank to rank, known pairs only; own parts excluded"};
  }
  static std::vector<ColumnSpec<Pair>> columns(const Resolver&);
};

/// Not written: all-to-all splits of one trace, per position in the group, until closing() knows who that is.
struct Split {
  static constexpr bool until_closing = true;
  StepId step;
  RankId rank;
  std::int32_t replica = -1;
  std::uint32_t local_group = 0;
  CollectiveOp op = CollectiveOp::unknown;
  Dtype dtype = Dtype::unknown;
  std::int32_t position = -1;
  std::int64_t calls_count = 0, bytes = 0;
  std::int64_t wire_bytes = 0;  // what the sum without splits counts for these calls; at position 0 only
  auto key() const { return std::tuple(step, rank, replica, local_group, op, dtype, position); }
  void combine(const Split& other) {
    calls_count += other.calls_count;
    bytes += other.bytes;
    wire_bytes += other.wire_bytes;
  }
  static TableInfo table() { return {}; }
  static std::vector<ColumnSpec<Split>> columns(const Resolver&) { return {}; }
};

using Tables = RowTables<Row, ByGroup, Total, Pair, Split>;

/// Status, headlines, page and long form.
void write_traffic_report(const Tables& tables, const ReportContext& context, Report& out);

}  // namespace ccl::traffic
