// hardware_saturation: how hard copies work the links, and how much the model computes per byte it communicates.
// Definition: bytes / time of GPU copies and sets by direction; communication
// intensity = model FLOP / bus bytes over all steps of all ranks seen, also those without communication.
// Shares of peaks (DRAM, SM, NVLink, PCIe) are means of hardware counters (counters.hpp); without counters they are absent,
// never estimated. Merge: keys are disjoint.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "metrics/busy.hpp"
#include "metrics/counters.hpp"
#include "metrics/model_flops.hpp"
#include "metrics/moved.hpp"
#include "metrics/pooled.hpp"
#include "metrics/step_tokens.hpp"

namespace ccl {

enum class CopyDirection : std::uint8_t { host_to_device, device_to_host, device_to_device, peer_to_peer, set, other };

std::string_view to_text(CopyDirection direction) {
  static constexpr std::string_view names[] = {
      "host_to_device", "device_to_host", "device_to_device", "peer_to_peer", "set", "other"};
  return names[static_cast<std::size_t>(direction)];
}

namespace {

struct HardwareSaturation {
  static MetricInfo info() {
    return {.name = "hardware_saturation",
            .unit = "GB/s",
            .question = "How fast are copies, and how much does the model compute per byte it communicates?",
            .definition =
                "Bytes / time of GPU copies and sets by direction; communication intensity = model FLOP / bus bytes, "
                "over all ranks and steps. Where the traces hold hardware counters, the mean of each over the steps: "
                "shares of the peak of SMs, DRAM, NVLink and PCIe, in all and while communication runs.",
            .needs = "copies with bytes; for the intensity what mfu needs of a workload card; for shares of peaks nsys "
                     "with --gpu-metrics-devices",
            .section = PageSection::further,
            .aliases = {},
            .wants = {.counters = true},
            .needs_records = true};
  }

  struct Row {
    StepId step;
    RankId rank;
    std::int32_t device = 0, replica = -1;
    CopyDirection direction = CopyDirection::other;
    std::int64_t count = 0, unknown_bytes_count = 0, bytes = 0, sum_ns = 0;
    auto key() const { return std::tuple(step, rank, device, replica, direction); }
    void combine(const Row& other) {
      count += other.count;
      unknown_bytes_count += other.unknown_bytes_count;
      bytes += other.bytes;
      sum_ns += other.sum_ns;
    }
    static TableInfo table() { return {"by_direction", "GPU copies and sets of each step by direction"}; }
    static std::vector<ColumnSpec<Row>> columns(const Resolver&) {
      std::vector<ColumnSpec<Row>> all = key_columns<Row>();
      all.push_back(column("direction", &Row::direction, "", "direction, from the event's name"));
      all.push_back(column("count", &Row::count, "", "copies or sets with known bytes"));
      all.push_back(column("unknown_bytes_count", &Row::unknown_bytes_count, "", "those without, in no other column"));
      all.push_back(column("bytes", &Row::bytes, "bytes", "bytes moved or set"));
      all.push_back(column("sum_ns", &Row::sum_ns, "ns", "sum of their durations"));
      all.push_back(derived<Row>("bytes_per_s", "bytes_per_s", "bytes / sum_ns", [](const Row& row) {
        return ratio(static_cast<double>(row.bytes) * 1e9, static_cast<double>(row.sum_ns));
      }));
      return all;
    }
  };
  struct Wire {
    StepId step;
    RankId rank;
    std::int32_t replica = -1;
    std::int64_t bus_bytes = 0, unknown_bytes_count = 0;
    auto key() const { return std::tuple(step, rank, replica); }
    static TableInfo table() { return {"rows", "bytes that a rank's collectives put on the links in each step"}; }
    static std::vector<ColumnSpec<Wire>> columns(const Resolver&) {
      std::vector<ColumnSpec<Wire>> all = key_columns<Wire>();
      all.push_back(column("bus_bytes", &Wire::bus_bytes, "bytes", "payload x bus factor of its collectives"));
      all.push_back(column("unknown_bytes_count", &Wire::unknown_bytes_count, "", "collectives without bytes"));
      return all;
    }
  };
  using Tables = RowTables<Row, Wire, CounterRow, StepTime>;

  static void local(const RankTrace& trace, const LocalContext& context, Tables& out) {
    add_step_times(trace, out.of<StepTime>());
    add_counters(trace, context.strings, out.of<CounterRow>());
    std::map<std::tuple<std::int32_t, std::int32_t, CopyDirection>, Row> sums;
    std::vector<std::optional<CopyDirection>> of_name(trace.strings.size());
    for (const MemoryOperation& operation : trace.memory_operations) {
      const std::int32_t step = trace.events.step[operation.event];
      if (step < 0) continue;
      const std::int32_t device = trace.lanes[trace.events.lane[operation.event]].device;
      const std::uint32_t name = trace.events.name[operation.event];
      if (!of_name[name]) of_name[name] = direction_in(trace.strings.text(name));
      const bool sets = trace.events.kind[operation.event] == EventKind::memory_set;
      const CopyDirection direction = sets ? CopyDirection::set : *of_name[name];
      Row& row = sums[{step, device, direction}];
      row.step.step = trace.steps[static_cast<std::size_t>(step)].number;
      row.device = device;
      row.direction = direction;
      if (operation.bytes < 0) {
        ++row.unknown_bytes_count;
      } else {
        ++row.count;
        row.bytes += operation.bytes;
        row.sum_ns += trace.events.dur_ns[operation.event];
      }
    }
    for (const auto& [key, row] : sums) out.of<Row>().push_back(row);
  }

  static void closing(const ClosingRank& rank, const ClosingContext& context, Tables& out) {
    std::map<std::int64_t, Wire> steps;
    for (const CollectiveRecord& record : rank.records) {
      if (record.step == outside_step) continue;
      Wire& row = steps[record.step];
      const Moved moved = moved_by(record, context.groups);
      if (moved.known())
        row.bus_bytes += moved.bus_bytes;
      else
        ++row.unknown_bytes_count;
    }
    for (auto& [step, row] : steps) {
      row.step = {rank.entry.iteration, step};
      row.rank = rank.entry.rank;
      row.replica = rank.entry.replica;
      out.of<Wire>().push_back(row);
    }
  }

  static void report(const Tables& tables, const ReportContext& context, Report& out) {
    const std::string intensity = report_intensity(tables, context, out);
    std::map<CopyDirection, Row> sums;
    for (const Row& row : tables.of<Row>()) sums[row.direction].combine(row);
    std::string copies;
    for (const auto& [direction, sum] : sums) {
      if (sum.count == 0 || sum.sum_ns == 0) continue;
      const double rate = static_cast<double>(sum.bytes) * 1e9 / static_cast<double>(sum.sum_ns);
      const std::string name(to_text(direction));
      out.value(name + "_bytes_per_s", rate, "bytes / time, over all ranks and steps");
      copies += (copies.empty() ? "" : ", ") + spoken(direction) + " " + gigabytes(rate) + "/s";
      out.details.push_back("  " + spoken(direction) + ": " + gigabytes(static_cast<double>(sum.bytes)) + " in " +
                            milliseconds(static_cast<double>(sum.sum_ns)) + ", " +
                            counted(static_cast<std::size_t>(sum.count), "operation"));
    }
    out.details.push_back("  communication intensity: " + intensity);
    const std::string shares = report_counters(tables.of<CounterRow>(), context.strings, out);
    if (shares.empty()) out.details.push_back("  DRAM share: absent, needs hardware counters");
    if (copies.empty() && shares.empty() && intensity.starts_with("absent"))
      return out.absent("no copy with known bytes in a step; communication intensity " + intensity);
    if (shares.empty()) out.note("dram_share", "absent: needs hardware counters", "share of the DRAM bandwidth");
    add_line(out.page, "hardware",
             "copies: " + (copies.empty() ? "none with bytes" : copies) + "; communication intensity " + intensity +
                 (shares.empty() ? "" : "; of their peaks " + shares));
  }

 private:
  static CopyDirection direction_in(std::string_view name) {
    std::string text(name);
    for (char& c : text) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
    static constexpr std::pair<const char*, CopyDirection> words[] = {
        {"htod", CopyDirection::host_to_device},   {"hosttodevice", CopyDirection::host_to_device},
        {"dtoh", CopyDirection::device_to_host},   {"devicetohost", CopyDirection::device_to_host},
        {"dtod", CopyDirection::device_to_device}, {"devicetodevice", CopyDirection::device_to_device},
        {"ptop", CopyDirection::peer_to_peer},     {"peertopeer", CopyDirection::peer_to_peer}};
    for (const auto& [word, direction] : words)
      if (text.find(word) != std::string::npos) return direction;
    return CopyDirection::other;
  }

  static std::string spoken(CopyDirection direction) {
    std::string text(to_text(direction));
    std::replace(text.begin(), text.end(), '_', ' ');
    return text;
  }

  // Also those in which nothing is sent, as where gradients are summed over several steps: the model computes there, too.
  static std::int64_t rank_steps(const Ranks& ranks) {
    std::int64_t count = 0;
    for (const RankEntry& entry : ranks.entries)
      count += std::count_if(entry.facts.steps.begin(), entry.facts.steps.end(),
                             [](const Step& step) { return step.has_gpu_events() && !step.lost_events; });
    return count;
  }

  // FLOP of the model are those of all GPUs; each rank stands for its share in each of its steps.
  static std::string report_intensity(const Tables& tables, const ReportContext& context, Report& out) {
    const TokenRate rate = token_rate(tables.of<StepTime>(), context);
    if (!rate.missing.empty()) return "absent: " + rate.missing;
    const ModelSize model = model_size(context.workload, context.config.mfu_convention);
    if (!model.missing.empty()) return "absent: " + model.missing;
    std::int64_t bytes = 0, unknown = 0;
    for (const Wire& row : tables.of<Wire>()) bytes += row.bus_bytes, unknown += row.unknown_bytes_count;
    if (bytes <= 0) return "absent: no collective with known bytes";
    const double step_flops = flops_per_token(model, context.config.mfu_convention,
                                              static_cast<double>(rate.seq_len_count), context.workload) *
                              static_cast<double>(rate.tokens_per_step_count);
    const double flops = step_flops / static_cast<double>(rate.ranks_count) * static_cast<double>(rank_steps(context.ranks));
    const double intensity = flops / static_cast<double>(bytes);
    out.value("communication_intensity_ratio", intensity, "model FLOP / bus bytes, FLOP per byte");
    out.value("unknown_bytes_count", static_cast<double>(unknown), "collectives without bytes, not in the intensity");
    return fmt::format("{:.0f} FLOP per byte", intensity);
  }
};

}  // namespace

std::unique_ptr<Metric> hardware_saturation() { return define_metric<HardwareSaturation>(); }

}  // namespace ccl
