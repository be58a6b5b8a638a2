// A later part of a Kineto file as its reader hands it on: what the scan of a range made, not joined to anything yet.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "parse/byte_source.hpp"
#include "parse/kineto_build.hpp"
#include "parse/kineto_scan.hpp"

namespace ccl {

/// What is known when the text has been scanned, beside the events.
struct ScanOutcome {
  bool stopped = false;
  SourceStatus status = SourceStatus::more;
  std::string error;
  std::int64_t text_bytes = 0, trailing_bytes = 0;
  bool cut = false, found_events = false;
  bool ends_at_event = false;  // of a range: the scan of the whole file would start an event right behind it
  std::vector<DamagedRange> damage;
};

struct KinetoPart {
  bool usable = false, reaches_end = false;  // of the file
  bool is_last = true;                       // that comes from this reader
  ScanOutcome scan;
  std::vector<TraceHeader::Said> header;
  KinetoMemory memory;
  std::optional<KinetoBuilder> builder;  // in this memory

  /// Empty but for the memory.
  void start(const ReadOptions& options) {
    forget_scan();
    builder.emplace(options, memory, BuildsPart::later);
  }
  /// The same behind a part of the same reader, which has been joined.
  void start_next(const ReadOptions& options) {
    forget_scan();
    if (!builder.has_value() || !builder->start_next_part()) builder.emplace(options, memory, BuildsPart::later);
  }

 private:
  void forget_scan() {
    usable = reaches_end = false;
    is_last = true;
    scan = {};
    header.clear();
  }
};
using OwnedPart = std::unique_ptr<KinetoPart>;

/// Where a reader's parts go.
class PartGiver {
 public:
  virtual ~PartGiver() = default;
  /// Gives one to be used for the next; none behind the last.
  virtual OwnedPart give(OwnedPart part) = 0;
};

/// Where the parts of all readers come from.
class PartTaker {
 public:
  virtual ~PartTaker() = default;
  /// The next of this reader. Nothing: it broke down.
  virtual OwnedPart take(int reader) = 0;
  /// It is used again.
  virtual void give_back(int reader, OwnedPart part) = 0;
};

}  // namespace ccl
