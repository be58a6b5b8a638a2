// A caching allocator in the manner of PyTorch's: small and large segments, best fit, blocks that split and merge. It
// keeps the history a memory snapshot would hold, and what was in use after each of its entries.
#pragma once
#include <cstdint>
#include <list>
#include <map>
#include <vector>

namespace synth {

struct Block {
  enum State { inactive, active, awaiting_free } state = inactive;
  std::int64_t address = 0, size = 0, requested = 0;
  int site = -1;
};

struct Segment {
  std::int64_t address = 0, size = 0;
  bool small = false;
  std::list<Block> blocks;
};

struct HistoryEntry {
  enum Action { alloc, free_requested, free_completed, segment_alloc, segment_free, oom } action = alloc;
  std::int64_t address = 0, size = 0, time_us = 0;
  int site = -1;
  /// Whether bytes in use changed: what profile_memory reports.
  bool changes_use() const { return action == alloc || action == free_completed; }
  // After it:
  std::int64_t active = 0, requested = 0, reserved = 0;
};
const char* text_of(HistoryEntry::Action action);

class Allocator {
 public:
  /// The address of a new block. site: who asks, a number of the caller's.
  std::int64_t allocate(std::int64_t bytes, int site, std::int64_t time_us);
  /// deferred: a stream still uses it; complete_free() ends that.
  void free(std::int64_t address, std::int64_t time_us, int site, bool deferred = false);
  void complete_free(std::int64_t address, std::int64_t time_us, int site);
  /// Gives back the segments that nothing uses.
  void empty_cache(std::int64_t time_us);
  void fail(std::int64_t bytes, std::int64_t device_free, std::int64_t time_us);

  const std::map<std::int64_t, Segment>& segments() const { return segments_; }  // by address
  const std::vector<HistoryEntry>& history() const { return history_; }
  std::int64_t active() const { return active_; }
  std::int64_t requested() const { return requested_; }
  std::int64_t reserved() const { return reserved_; }

 private:
  void note(HistoryEntry::Action action, std::int64_t address, std::int64_t size, std::int64_t time_us, int site);
  Segment& segment_of(std::int64_t address);
  std::pair<Segment*, std::list<Block>::iterator> best_fit(std::int64_t size, bool small);

  std::map<std::int64_t, Segment> segments_;
  std::vector<HistoryEntry> history_;
  std::int64_t next_address_ = 0x7f00'0000'0000, active_ = 0, requested_ = 0, reserved_ = 0;
};

}  // namespace synth
