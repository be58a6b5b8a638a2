#include <algorithm>
#include <cmath>

#include "store/run_tables.hpp"

namespace ccl {
namespace {

std::int64_t nanoseconds(double seconds) { return std::llround(seconds * 1e9); }

/// One stage over all workers.
struct StageRow {
  std::string stage;
  std::vector<double> wall_s, cpu_s;
  std::int64_t read_bytes = 0, items_count = 0, sent_bytes = 0, peak_memory_bytes = 0;
};

enum class Part { min, mean, max };

double part_of(const std::vector<double>& values, Part part) {
  if (part == Part::min) return *std::min_element(values.begin(), values.end());
  if (part == Part::max) return *std::max_element(values.begin(), values.end());
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

ColumnSpec<StageRow> time_column(const std::string& what, const std::string& name,
                                 std::vector<double> StageRow::*values, Part part) {
  return integer_column<StageRow>(name, "ns", what + " over workers", {}, [values, part](const StageRow& row) {
    return nanoseconds(part_of(row.*values, part));
  });
}

}  // namespace

std::vector<WorkerTimings> gather_timings(const Timings& mine, const Comm& comm) {
  ByteWriter out;
  out.value<std::uint64_t>(mine.stages.size());
  for (const StageTime& stage : mine.stages) {
    out.text(stage.stage);
    out.value(stage.wall_s);
    out.value(stage.cpu_s);
    for (const std::int64_t value : {stage.read_bytes, stage.items_count, stage.sent_bytes, stage.peak_memory_bytes})
      out.value(value);
  }
  out.array(mine.files);
  out.value(mine.events_count);
  out.value(mine.peak_memory_bytes);
  std::vector<WorkerTimings> all;
  for (const Bytes& parcel : comm.gather_all(out.take())) {
    ByteReader in(parcel);
    WorkerTimings one;
    one.worker = static_cast<std::int32_t>(all.size());
    one.timings.stages.resize(in.value<std::uint64_t>());
    for (StageTime& stage : one.timings.stages) {
      stage.stage = in.text();
      stage.wall_s = in.value<double>();
      stage.cpu_s = in.value<double>();
      for (std::int64_t* value : {&stage.read_bytes, &stage.items_count, &stage.sent_bytes, &stage.peak_memory_bytes})
        *value = in.value<std::int64_t>();
    }
    one.timings.files = in.array<FileTime>();
    one.timings.events_count = in.value<std::int64_t>();
    one.timings.peak_memory_bytes = in.value<std::int64_t>();
    all.push_back(std::move(one));
  }
  return all;
}

ResultTable stage_table(const std::vector<WorkerTimings>& workers) {
  std::vector<StageRow> rows;
  for (const WorkerTimings& worker : workers)
    for (const StageTime& stage : worker.timings.stages) {
      auto row = std::find_if(rows.begin(), rows.end(), [&](const StageRow& r) { return r.stage == stage.stage; });
      if (row == rows.end()) row = rows.insert(rows.end(), StageRow{stage.stage, {}, {}});
      row->wall_s.push_back(stage.wall_s);
      row->cpu_s.push_back(stage.cpu_s);
      row->read_bytes += stage.read_bytes;
      row->items_count += stage.items_count;
      row->sent_bytes += stage.sent_bytes;
      row->peak_memory_bytes = std::max(row->peak_memory_bytes, stage.peak_memory_bytes);
    }
  const std::vector<ColumnSpec<StageRow>> columns{
      text_column<StageRow>("stage", "stage of the run, in order", [](const StageRow& row) { return row.stage; }),
      time_column("shortest wall time", "wall_min_ns", &StageRow::wall_s, Part::min),
      time_column("mean wall time", "wall_mean_ns", &StageRow::wall_s, Part::mean),
      time_column("longest wall time", "wall_max_ns", &StageRow::wall_s, Part::max),
      time_column("shortest CPU time", "cpu_min_ns", &StageRow::cpu_s, Part::min),
      time_column("mean CPU time", "cpu_mean_ns", &StageRow::cpu_s, Part::mean),
      time_column("longest CPU time", "cpu_max_ns", &StageRow::cpu_s, Part::max),
      derived<StageRow>("imbalance_ratio", "ratio", "cpu_max_ns by cpu_mean_ns; 1 = all workers had the same to do",
                        [](const StageRow& row) {
                          const double mean_s = part_of(row.cpu_s, Part::mean);
                          return mean_s > 0 ? part_of(row.cpu_s, Part::max) / mean_s : NAN;
                        }),
      column("read_bytes", &StageRow::read_bytes, "bytes", "size of the trace files that all workers read"),
      column("items_count", &StageRow::items_count, "", "analyze: events in the files; match: collective records"),
      column("sent_bytes", &StageRow::sent_bytes, "bytes", "bytes that all workers sent in this stage"),
      column("peak_memory_bytes", &StageRow::peak_memory_bytes, "bytes",
             "largest memory of a worker up to the end of this stage")};
  return make_table("stages", "how long the stages of the analysis took", columns, rows);
}

ResultTable file_time_table(const std::vector<WorkerTimings>& workers, const Input& input) {
  struct R {
    const TraceFile* file;
    std::int64_t worker, readers_count, time_ns;
  };
  std::vector<R> rows;
  const auto row_of = [](const TraceFile& file, std::int64_t worker, double seconds) {
    return R{&file, worker, std::max<std::int64_t>(1, std::ssize(file.readers)), nanoseconds(seconds)};
  };
  for (const WorkerTimings& worker : workers)
    for (const FileTime& file : worker.timings.files)
      if (static_cast<std::size_t>(file.file) < input.files.size())
        rows.push_back(row_of(input.files[static_cast<std::size_t>(file.file)], worker.worker, file.seconds));
  std::stable_sort(rows.begin(), rows.end(), [](const R& a, const R& b) { return a.file < b.file; });
  const std::vector<ColumnSpec<R>> columns{
      text_column<R>("file", "file, relative to the trace folder", [](const R& r) { return r.file->shown; }),
      column("worker", &R::worker, "", "worker that read it"),
      integer_column<R>("file_bytes", "bytes", "size on disk", {}, [](const R& r) { return r.file->bytes; }),
      column("readers_count", &R::readers_count, "", "workers that share the file, each with a row; 1 = nobody else"),
      column("time_ns", &R::time_ns, "ns", "wall time of reading it, or its part, and of the metrics on it"),
      derived<R>("read_bytes_per_s", "bytes_per_s", "file_bytes by readers_count and time_ns", [](const R& r) {
        const auto bytes = static_cast<double>(r.file->bytes) / static_cast<double>(r.readers_count);
        return r.time_ns == 0 ? NAN : bytes * 1e9 / static_cast<double>(r.time_ns);
      })};
  return make_table("files", "how long each trace file took", columns, rows);
}

}  // namespace ccl
