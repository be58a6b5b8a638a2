#include <cmath>
#include <map>

#include "core/statistics.hpp"
#include "metrics/no_steps.hpp"
#include "metrics/traffic_distribution.hpp"

namespace ccl::traffic {

void Volume::combine(const Volume& other) {
  calls_count += other.calls_count;
  unknown_bytes_count += other.unknown_bytes_count;
  time_ns += other.time_ns;
  in_bytes += other.in_bytes;
  out_bytes += other.out_bytes;
  payload_bytes += other.payload_bytes;
  wire_bytes += other.wire_bytes;
}

void Pair::combine(const Pair& other) {
  sent_count += other.sent_count;
  sent_bytes += other.sent_bytes;
  received_count += other.received_count;
  received_bytes += other.received_bytes;
}

std::vector<ColumnSpec<Pair>> Pair::columns(const Resolver&) {
  std::vector<ColumnSpec<Pair>> all = key_columns<Pair>();
  all.push_back(column("source", &Pair::source, "", "rank that sends"));
  all.push_back(column("destination", &Pair::destination, "", "rank that receives"));
  all.push_back(column("link_class", &Pair::link_class, "", "same host or not"));
  all.push_back(
      integer_column<Pair>("bytes", "bytes", "as the sender says, else as the receiver says", {},
                           [](const Pair& row) { return row.sent_count > 0 ? row.sent_bytes : row.received_bytes; }));
  all.push_back(integer_column<Pair>("sent_bytes", "bytes", "as the sender says", -1,
                                     [](const Pair& row) { return row.sent_count > 0 ? row.sent_bytes : -1; }));
  all.push_back(integer_column<Pair>("received_bytes", "bytes", "as the receiver says", -1,
                                     [](const Pair& row) { return row.received_count > 0 ? row.received_bytes : -1; }));
  all.push_back(column("sent_count", &Pair::sent_count, "", "messages of the sender"));
  all.push_back(column("received_count", &Pair::received_count, "", "messages of the receiver"));
  return all;
}

namespace {

double as_double(std::int64_t value) { return static_cast<double>(value); }

std::string shares(const std::map<Dimension, Volume>& dimensions, std::int64_t Volume::*member, std::int64_t total) {
  std::string text;
  for (const auto& [dimension, bytes] : dimensions) {
    if (bytes.*member == 0) continue;
    const std::string name = dimension == Dimension::unknown ? "unknown dimension" : std::string(to_text(dimension));
    text += (text.empty() ? "" : ", ") + name + " " + percent(ratio(as_double(bytes.*member), as_double(total)));
  }
  return text;
}

}  // namespace

void write_traffic_report(const Tables& tables, const ReportContext& context, Report& out) {
  const auto& rows = tables.of<Row>();
  if (rows.empty()) return out.absent(no_steps_text(context.ranks));
  std::map<Dimension, Volume> dimensions;
  Volume all;
  for (const Total& row : tables.of<Total>()) {
    dimensions[row.dimension].combine(row.bytes);
    all.combine(row.bytes);
  }
  if (all.calls_count == 0) return out.not_applicable("no communication kernels inside steps");
  const std::string unknown = std::to_string(all.unknown_bytes_count) + " of " + std::to_string(all.calls_count) +
                              " kernels carry no message size";
  const double per_rank_step =
      all.known() ? as_double(all.wire_bytes) / as_double(static_cast<std::int64_t>(rows.size())) : std::nan("");
  if (!all.known()) {
    out.absent(unknown);
  } else if (all.unknown_bytes_count > 0) {
    out.status = Status::partial;
    out.reason = unknown;
  }
  out.value("wire_per_rank_step_bytes", per_rank_step, "mean over (rank, step)");
  out.value("wire_bytes", all.known() ? as_double(all.wire_bytes) : std::nan(""), "all ranks and steps");
  out.value("payload_bytes", all.known() ? as_double(all.payload_bytes) : std::nan(""), "all ranks and steps");
  out.value("unknown_bytes_count", as_double(all.unknown_bytes_count), "kernels without a known size");
  for (const auto& [dimension, bytes] : dimensions) {
    const std::string name(to_text(dimension));
    out.value(name + "_of_wire_bytes_ratio", ratio(as_double(bytes.wire_bytes), as_double(all.wire_bytes)),
              "share of the known wire bytes");
    out.value(name + "_of_time_ratio", ratio(as_double(bytes.time_ns), as_double(all.time_ns)),
              "share of the summed kernel time");
  }
  if (all.known())
    add_line(out.page, "traffic",
             gigabytes(per_rank_step) + " on the wire per rank and step" +
                 (all.wire_bytes > 0 ? "; of the bytes " + shares(dimensions, &Volume::wire_bytes, all.wire_bytes) : ""));
  else
    add_line(out.page, "traffic", "bytes unknown: " + unknown);
  std::string more = "of the kernel time " + shares(dimensions, &Volume::time_ns, all.time_ns);
  if (all.known() && all.unknown_bytes_count > 0) more += "; " + unknown;
  add_line(out.page, "", more);
  CappedLines lines;
  for (const Total& row : tables.of<Total>())
    lines.add([&] {
      return "  " + (row.iteration < 0 ? "" : "iteration_" + std::to_string(row.iteration) + " ") +
             std::string(to_text(row.dimension)) + " " + std::string(to_text(row.op)) + " " +
             std::string(to_text(row.link_class)) + ": " + std::to_string(row.bytes.calls_count) + " calls, " +
             (row.bytes.known() ? "payload " + gigabytes(as_double(row.bytes.payload_bytes)) + ", wire " +
                                      gigabytes(as_double(row.bytes.wire_bytes))
                                : "bytes unknown") +
             ", time " + milliseconds(as_double(row.bytes.time_ns));
    });
  for (const ByGroup& row : tables.of<ByGroup>())
    lines.add([&] {
      return "  " + step_name(row.step) + ", " + rank_name(row.replica, row.rank) + ": " +
             std::to_string(row.bytes.calls_count) + " " + std::string(to_text(row.op)) + " on " +
             group_name(context.groups, row.group) + ", wire " +
             (row.bytes.known() ? gigabytes(as_double(row.bytes.wire_bytes)) : "unknown");
    });
  lines.add_to(out.details);
}

}  // namespace ccl::traffic
