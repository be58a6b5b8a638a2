#include "snapshot.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>

#include "pickle_file.hpp"
#include "random.hpp"

namespace synth {
namespace {

enum Site { weights, adam_state, attention, feed_forward, scratch, gradient, sites_end };
constexpr std::array<const char*, sites_end> functions{"init_weights", "init_adam",     "attention",
                                                       "feed_forward", "scratch_space", "accumulate_grad"};

/// What a rank keeps and needs: weights from the start, activations of each layer from its forward to its backward,
/// gradients to the end of the step, the optimizer's state from the first step on.
class RankSimulation {
 public:
  RankSimulation(const Job& job, int rank, RankMemory& out)
      : job_(job), rank_(rank), out_(out), memory_(out.allocator) {}

  void start(std::int64_t time_us) {
    now_ = time_us;
    for (std::int64_t layer = 0; layer < job_.model.layers; ++layer) memory_.allocate(some(3 << 20), weights, tick());
  }

  void step(const PlantedStep& step, int index) {
    now_ = step.first_us;
    until_ = step.last_us;
    std::vector<std::int64_t> activations, gradients;
    for (std::int64_t layer = 0; layer < job_.model.layers; ++layer) {
      const std::int64_t held = memory_.allocate(some(6 << 20), attention, tick());
      const std::int64_t temporary = memory_.allocate(some(200 << 10), scratch, tick());
      memory_.free(temporary, tick(), scratch);
      activations.push_back(held);
      activations.push_back(memory_.allocate(some(900 << 10) + (index + 1) * 3000, feed_forward, tick()));
    }
    for (std::int64_t layer = job_.model.layers; layer-- > 0;) {
      gradients.push_back(memory_.allocate(some(3 << 20), gradient, tick()));
      for (int i = 0; i < 2; ++i) {
        const bool deferred = i == 1;
        memory_.free(activations.back(), tick(), gradient, deferred);
        if (deferred) memory_.complete_free(activations.back(), tick(), gradient);
        activations.pop_back();
      }
    }
    if (index == 0)
      for (std::int64_t layer = 0; layer < job_.model.layers; ++layer)
        memory_.allocate(some(5 << 20), adam_state, tick());
    for (const std::int64_t address : gradients) memory_.free(address, tick(), gradient);
    if (index == 1) memory_.empty_cache(tick());
    out_.steps.push_back(step);
  }

  void end() {
    // One block is still awaited by a stream when the snapshot is dumped.
    memory_.free(memory_.allocate(some(50 << 10), scratch, tick()), tick(), scratch, true);
    if (job_.memory_oom_rank == rank_) memory_.fail(7 << 20, 12'345'344, tick());
  }

 private:
  /// Sizes of no round number, different on every rank and at every call.
  std::int64_t some(std::int64_t most) { return between(draw(job_.seed, 77, rank_, calls_++), most / 2, most); }
  std::int64_t tick() {
    now_ += until_ > now_ + 40 && until_ - now_ < 4000 ? 1 : 3;
    return now_;
  }

  const Job& job_;
  const int rank_;
  RankMemory& out_;
  Allocator& memory_;
  std::int64_t now_ = 0, until_ = 0, calls_ = 0;
};

class SnapshotWriter {
 public:
  SnapshotWriter(const RankMemory& memory, TextFile& out) : memory_(memory), out_(out) {}

  void write() {
    out_.dict();
    out_.mark();
    segments();
    traces();
    out_.text("allocator_settings");
    out_.dict();
    out_.mark();
    out_.item("PYTORCH_CUDA_ALLOC_CONF", "");
    out_.text("expandable_segments");
    out_.truth(false);
    out_.set();
    annotations();
    out_.set();
    out_.stop();
  }

 private:
  void segments() {
    out_.text("segments");
    out_.list();
    out_.mark();
    for (const auto& [address, segment] : memory_.allocator.segments()) {
      std::int64_t allocated = 0, active = 0, requested = 0;
      for (const Block& block : segment.blocks) {
        allocated += block.state == Block::active ? block.size : 0;
        active += block.state != Block::inactive ? block.size : 0;
        requested += block.state != Block::inactive ? block.requested : 0;
      }
      out_.dict();
      out_.mark();
      out_.item("device", 0), out_.item("address", address), out_.item("total_size", segment.size);
      out_.item("allocated_size", allocated), out_.item("active_size", active), out_.item("requested_size", requested);
      out_.item("stream", 0), out_.item("segment_type", segment.small ? "small" : "large");
      out_.text("segment_pool_id"), out_.pair(0, 0);
      out_.text("blocks");
      out_.list();
      out_.mark();
      for (const Block& block : segment.blocks) write(block);
      out_.append();
      out_.set();
    }
    out_.append();
  }

  void write(const Block& block) {
    out_.dict();
    out_.mark();
    out_.item("address", block.address), out_.item("size", block.size), out_.item("requested_size", block.requested);
    out_.item("state", block.state == Block::inactive ? "inactive"
                       : block.state == Block::active ? "active_allocated"
                                                      : "active_pending_free");
    frames(block.site);
    out_.set();
  }

  void traces() {
    out_.text("device_traces");
    out_.list();
    out_.mark();
    out_.list();
    const auto& history = memory_.allocator.history();
    for (std::size_t i = memory_.first_entry; i < history.size();) {
      // Python's pickler appends a thousand items at a time.
      out_.mark();
      for (const std::size_t end = std::min(history.size(), i + 1000); i < end; ++i) write(history[i]);
      out_.append();
    }
    out_.list();  // a second device that did nothing
    out_.append();
  }

  void write(const HistoryEntry& entry) {
    out_.dict();
    out_.mark();
    out_.item("action", text_of(entry.action));
    out_.item(entry.action == HistoryEntry::oom ? "device_free" : "addr", entry.address);
    out_.item("size", entry.size), out_.item("stream", 0), out_.item("time_us", entry.time_us);
    frames(entry.site);
    out_.set();
  }

  /// As PyTorch gives them: frames of the allocator, then Python's, innermost first. The dicts are shared, the lists
  /// not.
  void frames(int site) {
    out_.text("frames");
    out_.list();
    if (site < 0) return;
    out_.mark();
    frame("??", "c10::cuda::CUDACachingAllocator::malloc", 0);
    frame("/src/train/model.py", functions[static_cast<std::size_t>(site)], 10 + site);
    for (int depth = 0; depth < 16; ++depth)
      frame("/src/train/module" + std::to_string(depth) + ".py", "forward", 100 + depth);
    out_.append();
  }

  void frame(const std::string& file, const std::string& name, int line) {
    const auto [at, added] = frames_.try_emplace({file, name, line}, 0);
    if (!added) return out_.recall(at->second);
    at->second = out_.dict();
    out_.mark();
    out_.item("name", name), out_.item("filename", file), out_.item("line", line);
    out_.set();
  }

  void annotations() {
    out_.text("external_annotations");
    out_.list();
    out_.mark();
    for (const PlantedStep& step : memory_.steps)
      for (const bool starts : {true, false}) {
        out_.dict();
        out_.mark();
        out_.item("stage", starts ? "START" : "END");
        out_.item("name", "ProfilerStep#" + std::to_string(step.number));
        out_.item("device", 0), out_.item("time_us", starts ? step.first_us : step.last_us);
        out_.set();
      }
    out_.append();
  }

  const RankMemory& memory_;
  PickleFile out_;
  std::map<std::tuple<std::string, std::string, int>, std::int64_t> frames_;
};

}  // namespace

RankMemory simulate_memory(const Job& job, const RankRun& run, int rank) {
  RankMemory memory;
  RankSimulation simulation(job, rank, memory);
  const FileClock clock(job, rank);
  simulation.start(clock.file_ns(run.steps.front().cpu_start) / 1000 - 10'000);
  for (std::size_t s = 0; s < run.steps.size(); ++s)
    simulation.step({job.first_step + static_cast<int>(s), clock.file_ns(run.steps[s].cpu_start) / 1000,
                     clock.file_ns(run.steps[s].cpu_end) / 1000},
                    static_cast<int>(s));
  simulation.end();
  const std::size_t count = memory.allocator.history().size();
  if (job.memory_ring > 0 && count > job.memory_ring) memory.first_entry = count - job.memory_ring;
  return memory;
}

std::string snapshot_path(const Job& job, int rank) {
  std::string folder = job.output + "/memory_snapshot";
  if (job.layout == Layout::torchtitan) folder += "/iteration_" + std::to_string(job.first_step + job.steps);
  std::filesystem::create_directories(folder);
  return folder + "/rank" + std::to_string(rank) + "_memory_snapshot.pickle";
}

std::int64_t write_snapshot(const RankMemory& memory, const std::string& path) {
  TextFile out(path, false);
  SnapshotWriter(memory, out).write();
  out.close();
  return out.bytes();
}

std::int64_t write_big_snapshot(const std::string& path, double bytes) {
  const auto make = [](int steps) {
    Job job;
    job.model.layers = 32;
    RankMemory memory;
    RankSimulation simulation(job, 0, memory);
    simulation.start(1);
    for (int s = 0; s < steps; ++s)
      simulation.step({s, (s + 1) * std::int64_t{1'000'000}, (s + 2) * std::int64_t{1'000'000} - 1}, s);
    simulation.end();
    return memory;
  };
  TextFile counted;
  constexpr int trial = 10;
  SnapshotWriter(make(trial), counted).write();
  return write_snapshot(make(std::max(1, static_cast<int>(bytes / static_cast<double>(counted.bytes()) * trial))),
                        path);
}

MemoryPeaks peaks_of(const RankMemory& memory) {
  const auto& history = memory.allocator.history();
  // The state before the oldest entry in the ring counts too.
  MemoryPeaks peaks;
  for (std::size_t i = memory.first_entry == 0 ? 0 : memory.first_entry - 1; i < history.size(); ++i) {
    if (history[i].active > peaks.active) {
      peaks.active = history[i].active;
      peaks.time_us = history[std::max(i, memory.first_entry)].time_us;
    }
    peaks.requested = std::max(peaks.requested, history[i].requested);
    peaks.reserved = std::max(peaks.reserved, history[i].reserved);
  }
  return peaks;
}

MemoryPeaks peaks_of(const RankMemory& memory, const PlantedStep& step) {
  MemoryPeaks peaks;
  const HistoryEntry* before = nullptr;
  for (const HistoryEntry& entry : memory.allocator.history()) {
    if (entry.time_us > step.last_us) break;
    if (entry.time_us < step.first_us) {
      before = &entry;
      continue;
    }
    peaks.active = std::max({peaks.active, entry.active, before == nullptr ? 0 : before->active});
  }
  return peaks;
}

std::vector<SiteBytes> sites_of(const RankMemory& memory) {
  const MemoryPeaks peaks = peaks_of(memory);
  std::map<int, SiteBytes> sites;
  std::map<std::int64_t, std::pair<int, std::int64_t>> live;  // address -> (site, block size)
  const auto& history = memory.allocator.history();
  bool reached = false;
  for (const HistoryEntry& entry : history) {
    if (entry.action == HistoryEntry::alloc) live[entry.address] = {entry.site, (entry.size + 511) / 512 * 512};
    if (entry.action == HistoryEntry::free_completed) live.erase(entry.address);
    if (!reached && entry.active == peaks.active) {
      reached = true;
      for (const auto& [address, block] : live) sites[block.first].at_peak += block.second;
    }
  }
  for (const auto& [address, block] : live) sites[block.first].at_end += block.second;
  std::vector<SiteBytes> out;
  for (auto& [site, bytes] : sites) {
    bytes.function = functions[static_cast<std::size_t>(site)];
    out.push_back(bytes);
  }
  return out;
}

}  // namespace synth
