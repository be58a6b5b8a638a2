// memory: how much memory a rank needs, how near that is to its GPU's limit, and what holds it.
// Definition: state at the dump from the segments of PyTorch's memory snapshots; peaks by replay of the recorded
// allocations backwards from that state, in block sizes (peak_active) and in asked sizes (peak_requested).
// Merge: keys are disjoint. Headline: the largest peak_active.
#include "metrics/memory.hpp"

#include <limits>

#include "core/statistics.hpp"

namespace ccl {
namespace memory_rows {
namespace {

double part(std::int64_t a, std::int64_t b) {
  return a < 0 || b <= 0 ? std::numeric_limits<double>::quiet_NaN()
                         : ratio(static_cast<double>(a), static_cast<double>(b));
}

std::string_view text_of(RingEvidence evidence) {
  return evidence == RingEvidence::none ? "no" : evidence == RingEvidence::proven ? "proven" : "guessed";
}

template <class Row>
ColumnSpec<Row> ticks(const char* name, const char* description, std::int64_t Row::*member) {
  return column(name, member, "us", description, -1);
}

}  // namespace

std::vector<ColumnSpec<Row>> Row::columns(const Resolver& resolver) {
  std::vector<ColumnSpec<Row>> all = owner_columns<Row>(resolver);
  const auto bytes = [&all](const char* name, std::int64_t Row::*member, const char* description) {
    all.push_back(column(name, member, "bytes", description, -1));
  };
  const auto count = [&all](const char* name, std::int64_t Row::*member, const char* description) {
    all.push_back(column(name, member, "", description));
  };
  const auto rate = [&all](const char* name, const char* unit, const char* description, std::int64_t Row::*member) {
    all.push_back(derived<Row>(name, unit, description, [member](const Row& row) {
      return row.seconds() > 0 ? static_cast<double>(row.*member) / row.seconds()
                               : std::numeric_limits<double>::quiet_NaN();
    }));
  };
  bytes("peak_active_bytes", &Row::peak_active_bytes, "most memory in blocks in use, over the recorded history");
  bytes("peak_requested_bytes", &Row::peak_requested_bytes, "the same in the sizes that were asked for");
  bytes("peak_reserved_bytes", &Row::peak_reserved_bytes, "most memory taken from the device");
  all.push_back(ticks("peak_us", "when peak_active_bytes was first reached, clock of the snapshot", &Row::peak_us));
  bytes("reserved_bytes", &Row::reserved_bytes, "taken from the device, at the dump");
  bytes("allocated_bytes", &Row::allocated_bytes, "in blocks that are not freed, at the dump");
  bytes("active_bytes", &Row::active_bytes, "allocated, or freed but still awaited by a stream, at the dump");
  bytes("requested_bytes", &Row::requested_bytes, "asked for by what is allocated, at the dump");
  count("segments_count", &Row::segments_count, "segments at the dump");
  count("blocks_count", &Row::blocks_count, "blocks at the dump");
  bytes("start_active_bytes", &Row::start_active_bytes, "in use before the oldest recorded entry");
  bytes("start_reserved_bytes", &Row::start_reserved_bytes,
        "taken before the oldest entry; above 0 the peaks are those of the recorded window only");
  count("entries_count", &Row::entries_count, "recorded entries");
  all.push_back(text_column<Row>("ring_full", "proven = a block in use has a stack but its allocation is gone; guessed "
                                 "= a round count of entries that begin mid-run; no",
                                 [](const Row& row) { return std::string(text_of(row.ring_full)); }));
  all.push_back(column("cut", &Row::cut, "", "1 = more entries or blocks than the reader keeps"));
  all.push_back(ticks("first_us", "oldest entry, clock of the snapshot", &Row::first_us));
  all.push_back(ticks("last_us", "newest entry", &Row::last_us));
  count("allocations_count", &Row::allocations_count, "allocations recorded");
  bytes("allocations_bytes", &Row::allocations_bytes, "asked for by them");
  count("frees_count", &Row::frees_count, "frees requested");
  bytes("frees_bytes", &Row::frees_bytes, "asked for by what they free");
  count("segment_allocations_count", &Row::segment_allocations_count, "calls of cudaMalloc");
  count("out_of_memory_count", &Row::out_of_memory_count, "requests that failed");
  rate("allocations_per_s", "1/s", "allocations over the recorded time", &Row::allocations_count);
  rate("allocations_bytes_per_s", "bytes_per_s", "bytes asked for over the recorded time", &Row::allocations_bytes);
  rate("frees_per_s", "1/s", "frees over the recorded time", &Row::frees_count);
  rate("frees_bytes_per_s", "bytes_per_s", "bytes freed over the recorded time", &Row::frees_bytes);
  all.push_back(derived<Row>("efficiency_ratio", "", "active_bytes / reserved_bytes",
                             [](const Row& row) { return part(row.active_bytes, row.reserved_bytes); }));
  all.push_back(derived<Row>(
      "internal_fragmentation_ratio", "", "(allocated_bytes - requested_bytes) / allocated_bytes", [](const Row& row) {
        return row.requested_bytes < 0 ? std::numeric_limits<double>::quiet_NaN()
                                       : part(row.allocated_bytes - row.requested_bytes, row.allocated_bytes);
      }));
  return all;
}

std::vector<ColumnSpec<ByPool>> ByPool::columns(const Resolver& resolver) {
  std::vector<ColumnSpec<ByPool>> all = owner_columns<ByPool>(resolver);
  const auto bytes = [&all](const char* name, std::int64_t PoolMemory::*member, const char* description) {
    all.push_back(integer_column<ByPool>(name, "bytes", description, {},
                                         [member](const ByPool& row) { return row.pool.*member; }));
  };
  all.push_back(text_column<ByPool>("pool", "small (requests up to 1 MiB) or large",
                                    [](const ByPool& row) { return row.large ? "large" : "small"; }));
  bytes("inactive_bytes", &PoolMemory::inactive_bytes, "in blocks not in use");
  bytes("inactive_split_bytes", &PoolMemory::inactive_split_bytes,
        "of them in segments that are partly in use: cannot be given back");
  bytes("largest_inactive_bytes", &PoolMemory::largest_inactive_bytes, "largest such block");
  all.push_back(derived<ByPool>(
      "fragmentation_ratio", "", "1 - largest_inactive_bytes / inactive_bytes",
      [](const ByPool& row) { return 1 - part(row.pool.largest_inactive_bytes, row.pool.inactive_bytes); }));
  return all;
}

std::vector<ColumnSpec<BySize>> BySize::columns(const Resolver& resolver) {
  std::vector<ColumnSpec<BySize>> all = owner_columns<BySize>(resolver);
  all.push_back(column("from_bytes", &BySize::from_bytes, "bytes", "smallest size counted here; below twice that"));
  all.push_back(column("allocations_count", &BySize::allocations_count, "", "allocations of such a size"));
  return all;
}

std::vector<ColumnSpec<ByStream>> ByStream::columns(const Resolver& resolver) {
  std::vector<ColumnSpec<ByStream>> all = owner_columns<ByStream>(resolver);
  const auto add = [&all](const char* name, const char* unit, const char* description, std::int64_t StreamMemory::*m) {
    all.push_back(
        integer_column<ByStream>(name, unit, description, {}, [m](const ByStream& row) { return row.memory.*m; }));
  };
  const auto rate = [&all](const char* name, const char* unit, const char* description, std::int64_t StreamMemory::*m) {
    all.push_back(derived<ByStream>(name, unit, description, [m](const ByStream& row) {
      return row.seconds > 0 ? static_cast<double>(row.memory.*m) / row.seconds
                             : std::numeric_limits<double>::quiet_NaN();
    }));
  };
  add("stream", "", "0 = the default stream, else its handle", &StreamMemory::stream);
  add("allocations_count", "", "allocations recorded", &StreamMemory::allocations_count);
  add("allocations_bytes", "bytes", "asked for by them", &StreamMemory::allocations_bytes);
  add("frees_count", "", "frees requested", &StreamMemory::frees_count);
  add("frees_bytes", "bytes", "asked for by what they free", &StreamMemory::frees_bytes);
  rate("allocations_per_s", "1/s", "over the recorded time of the device", &StreamMemory::allocations_count);
  rate("allocations_bytes_per_s", "bytes_per_s", "over the recorded time of the device", &StreamMemory::allocations_bytes);
  rate("frees_per_s", "1/s", "over the recorded time of the device", &StreamMemory::frees_count);
  rate("frees_bytes_per_s", "bytes_per_s", "over the recorded time of the device", &StreamMemory::frees_bytes);
  return all;
}

std::vector<ColumnSpec<Failure>> Failure::columns(const Resolver& resolver) {
  std::vector<ColumnSpec<Failure>> all = owner_columns<Failure>(resolver);
  const auto add = [&all](const char* name, const char* unit, const char* description, std::int64_t OutOfMemory::*m) {
    all.push_back(
        integer_column<Failure>(name, unit, description, -1, [m](const Failure& row) { return row.what.*m; }));
  };
  add("time_us", "us", "when, clock of the snapshot", &OutOfMemory::time_us);
  add("asked_bytes", "bytes", "asked for", &OutOfMemory::asked_bytes);
  add("free_bytes", "bytes", "free on the device", &OutOfMemory::free_bytes);
  return all;
}

std::vector<ColumnSpec<Top>> Top::columns(const Resolver& resolver) {
  std::vector<ColumnSpec<Top>> all = owner_columns<Top>(resolver);
  all.push_back(column("place", &Top::place, "", "1 = largest at the peak"));
  all.push_back(text_column<Top>("function", "innermost Python function; empty = no frame was recorded",
                                 [text = resolver.text](const Top& row) { return text(row.function); }));
  all.push_back(text_column<Top>("source", "its source file",
                                 [text = resolver.text](const Top& row) { return text(row.source); }));
  all.push_back(column("line", &Top::line, "", "line in it", -1));
  all.push_back(column("at_peak_bytes", &Top::at_peak_bytes, "bytes", "in use at the peak"));
  all.push_back(column("at_end_bytes", &Top::at_end_bytes, "bytes", "in use at the dump"));
  return all;
}

std::vector<ColumnSpec<ByStep>> ByStep::columns(const Resolver& resolver) {
  std::vector<ColumnSpec<ByStep>> all = owner_columns<ByStep>(resolver);
  const auto add = [&all](const char* name, const char* unit, const char* description, std::int64_t StepMemory::*m) {
    all.push_back(
        integer_column<ByStep>(name, unit, description, -1, [m](const ByStep& row) { return row.memory.*m; }));
  };
  add("first_us", "us", "start of the step, clock of the snapshot", &StepMemory::first_us);
  add("last_us", "us", "end of the step", &StepMemory::last_us);
  add("peak_active_bytes", "bytes", "most in use within the step", &StepMemory::peak_active_bytes);
  add("end_active_bytes", "bytes", "in use at its end", &StepMemory::end_active_bytes);
  add("allocations_count", "", "allocations within it", &StepMemory::allocations_count);
  add("allocations_bytes", "bytes", "asked for by them", &StepMemory::allocations_bytes);
  return all;
}

namespace {

Row row_of(const Owner& owner, const DeviceMemory& m) {
  Row row;
  row.owner = owner;
  row.rank = owner.rank;
  row.reserved_bytes = m.reserved_bytes;
  row.allocated_bytes = m.allocated_bytes;
  row.active_bytes = m.active_bytes;
  row.requested_bytes = m.requested_bytes;
  row.segments_count = m.segments_count;
  row.blocks_count = m.blocks_count;
  row.peak_active_bytes = m.peak_active_bytes;
  row.peak_requested_bytes = m.peak_requested_bytes;
  row.peak_reserved_bytes = m.peak_reserved_bytes;
  row.peak_us = m.peak_us;
  row.start_active_bytes = m.start_active_bytes;
  row.start_reserved_bytes = m.start_reserved_bytes;
  row.entries_count = m.entries_count;
  row.first_us = m.first_us;
  row.last_us = m.last_us;
  row.allocations_count = m.allocations_count;
  row.allocations_bytes = m.allocations_bytes;
  row.frees_count = m.frees_count;
  row.frees_bytes = m.frees_bytes;
  row.segment_allocations_count = m.segment_allocations_count;
  row.out_of_memory_count = static_cast<std::int64_t>(m.out_of_memory.size());
  row.ring_full = m.ring_full();
  row.cut = m.cut;
  return row;
}

}  // namespace
}  // namespace memory_rows

namespace {

struct Memory {
  static MetricInfo info() {
    return {.name = "memory",
            .unit = "GB",
            .question = "How much GPU memory does a rank need, how near is that to the limit, and what holds it?",
            .definition =
                "Largest peak over ranks of the bytes in blocks in use, by replay of the allocations that PyTorch's "
                "memory snapshot recorded, backwards from the state at its dump; beside it the peak in asked sizes and "
                "of what was taken from the device. Efficiency = active / reserved at the dump.",
            .needs =
                "memory snapshots (torch.cuda.memory._dump_snapshot) beside the traces or alone, or traces with "
                "profile_memory=True; the limit of the GPU from the traces",
            .section = PageSection::further,
            .aliases = {},
            .wants = {.memory_usage = true},
            .needs_snapshots = true};
  }
  using Tables = memory_rows::Tables;

  static void local(const RankTrace& trace, const LocalContext&, Tables& out) {
    memory_rows::add_in_trace(trace, out.of<memory_rows::InTrace>());
  }

  static void snapshot(const MemorySnapshot& from, const LocalContext& context, Tables& out) {
    memory_rows::Owner owner{from.iteration, from.rank, 0, from.replica, from.file, context.strings.intern(from.shown)};
    for (const DeviceMemory& m : from.devices) {
      owner.device = m.device;
      out.of<memory_rows::Row>().push_back(memory_rows::row_of(owner, m));
      out.of<memory_rows::ByPool>().push_back({owner, false, m.small});
      out.of<memory_rows::ByPool>().push_back({owner, true, m.large});
      for (std::size_t i = 0; i < m.sizes_count.size(); ++i)
        if (m.sizes_count[i] > 0)
          out.of<memory_rows::BySize>().push_back({owner, std::int64_t{1} << i, m.sizes_count[i]});
      for (std::size_t i = 0; i < m.out_of_memory.size(); ++i)
        out.of<memory_rows::Failure>().push_back({owner, static_cast<std::int64_t>(i), m.out_of_memory[i]});
      for (std::size_t i = 0; i < m.sites.size(); ++i) {
        const AllocationSite& site = m.sites[i];
        out.of<memory_rows::Top>().push_back({owner, static_cast<std::int64_t>(i) + 1, site.line, site.at_peak_bytes,
                                              site.at_end_bytes, context.strings.intern(site.file),
                                              context.strings.intern(site.function)});
      }
      for (const StreamMemory& stream : m.streams)
        out.of<memory_rows::ByStream>().push_back({owner, out.of<memory_rows::Row>().back().seconds(), stream});
      for (const StepMemory& step : m.steps) out.of<memory_rows::ByStep>().push_back({owner, step.step, step});
    }
  }

  static void report(const Tables& tables, const ReportContext& context, Report& out) {
    memory_rows::report(tables, context, out);
  }
};

}  // namespace

std::unique_ptr<Metric> memory() { return define_metric<Memory>(); }

}  // namespace ccl
