#include "support/kineto_text.hpp"

#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "parse/config_files.hpp"

namespace ccl::test {

ScratchFile::ScratchFile(std::string_view content, std::string_view name) {
  static std::atomic<int> number{0};
  path_ = testing::TempDir() + "ccl_" + std::to_string(getpid()) + "_" + std::to_string(number++) + "_" + std::string(name);
  std::ofstream(path_, std::ios::binary) << content;
}

ScratchFile::~ScratchFile() { std::remove(path_.c_str()); }

const Classifier& classifier() {
  static const Classifier instance(embedded_config("kernels"));
  return instance;
}

std::vector<std::string> ReadResult::names() const {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < trace.events.size(); ++i) out.push_back(name(i));
  return out;
}

Problem ReadResult::first(Code code) const {
  for (const Problem& row : problems.rows())
    if (row.code == code) return row;
  return {};
}

namespace {

// A sink gets a reference that is only good during the call, and RankTrace can not be copied: rebuild the columns.
template <class Rows>
void copy(const Rows& from, Rows& to) {
  for (const auto& value : from) to.push_back(value);
}

void copy(const RankTrace& from, RankTrace& to) {
  copy(from.events.start_ns, to.events.start_ns);
  copy(from.events.dur_ns, to.events.dur_ns);
  copy(from.events.name, to.events.name);
  copy(from.events.lane, to.events.lane);
  copy(from.events.kind, to.events.kind);
  copy(from.events.step, to.events.step);
  copy(from.events.correlation, to.events.correlation);
  copy(from.events.launch_ns, to.events.launch_ns);
  copy(from.events.launch_thread, to.events.launch_thread);
  copy(from.memory_operations, to.memory_operations);
  copy(from.kernel_shapes, to.kernel_shapes);
  copy(from.slices, to.slices);
  to.file = from.file;
  to.iteration = from.iteration;
  to.replica = from.replica;
  to.rank = from.rank;
  to.world_size = from.world_size;
  to.host = from.host;
  to.gpu = from.gpu;
  to.gpus_in_node = from.gpus_in_node;
  to.gpu_memory_bytes = from.gpu_memory_bytes;
  to.framework_version = from.framework_version;
  to.format = from.format;
  to.lanes = from.lanes;
  to.devices = from.devices;
  for (const Collective& collective : from.collectives) to.collectives.push_back(collective);
  to.splits = from.splits;
  to.groups = from.groups;
  to.steps = from.steps;
  to.threads = from.threads;
  to.strings = from.strings;
  to.events_count = from.events_count;
  to.outside_events_count = from.outside_events_count;
  to.lost_events_count = from.lost_events_count;
  to.loss = from.loss;
  to.launches_count = from.launches_count;
  for (const MemoryUsage& usage : from.memory_usage) to.memory_usage.push_back(usage);
  to.fingerprint = from.fingerprint;
}

}  // namespace

ReadResult read_path(const std::string& path, const ReadSettings& settings) {
  ReadResult result;
  TraceFile file;
  file.path = path;
  file.shown = "trace.json";
  file.format = TraceFormat::kineto;
  ReadOptions options;
  options.wants = settings.wants;
  options.window_bytes = settings.window_bytes;
  options.classifier = &classifier();
  Progress progress;
  KinetoReader reader(settings.limit_bytes, settings.inflate, settings.level);
  reader.read(file, options, result.problems, progress, [&](const RankTrace& trace) {
    result.called = true;
    copy(trace, result.trace);
  });
  return result;
}

ReadResult read_text(std::string_view text, const ReadSettings& settings) {
  const ScratchFile file(text);
  return read_path(file.path(), settings);
}

std::string trace_text(std::string_view events, std::string_view members_before) {
  std::string out = "{\n  ";
  out.append(members_before).append("\n  \"traceEvents\": [\n  ").append(events).append("\n  ]\n}\n");
  return out;
}

std::string kernel_text(std::string_view name, std::string_view ts, std::string_view dur, int stream, int correlation,
                        std::string_view more) {
  std::string out = "{\n    \"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"";
  out.append(name).append("\", \"pid\": 0, \"tid\": ").append(std::to_string(stream)).append(",\n    \"ts\": ");
  out.append(ts).append(", \"dur\": ").append(dur).append(",\n    \"args\": {\n      \"External id\": 5, \"device\": 0, ");
  out.append("\"context\": 1, \"stream\": ").append(std::to_string(stream)).append(", \"correlation\": ");
  return out.append(std::to_string(correlation)).append(more).append("\n    }\n  }");
}

std::string launch_text(std::string_view name, std::string_view ts, int correlation, std::string_view thread) {
  std::string out = "{\n    \"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"";
  out.append(name).append("\", \"pid\": 10, \"tid\": ").append(thread).append(",\n    \"ts\": ").append(ts);
  out.append(", \"dur\": 1,\n    \"args\": {\n      \"cbid\": 211, \"correlation\": ");
  return out.append(std::to_string(correlation)).append("\n    }\n  }");
}

std::vector<std::pair<std::string, std::string>> unpack_tar_gz(const std::string& path) {
  std::string all;
  if (gzFile file = gzopen(path.c_str(), "rb"); file != nullptr) {
    char piece[65536];
    for (int got = 0; (got = gzread(file, piece, sizeof piece)) > 0;) all.append(piece, static_cast<std::size_t>(got));
    gzclose(file);
  }
  constexpr std::size_t block = 512;
  std::vector<std::pair<std::string, std::string>> files;
  for (std::size_t at = 0; at + block <= all.size() && all[at] != '\0';) {
    const std::size_t size = std::stoul(all.substr(at + 124, 12), nullptr, 8);
    const std::string name = std::filesystem::path(std::string(all.data() + at)).filename();
    if (all[at + 156] == '0' || all[at + 156] == '\0') files.emplace_back(name, all.substr(at + block, size));
    at += block + (size + block - 1) / block * block;
  }
  return files;
}

}  // namespace ccl::test
