// A reader turns one trace file into RankTraces. There is one per format; readers never throw on content: what is
// damaged becomes a Problem, the good rest is used. A reader object is kept and reused, with its windows and tables.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/bytes.hpp"
#include "core/problems.hpp"
#include "core/processors.hpp"
#include "core/progress.hpp"
#include "core/tables.hpp"
#include "discover/discover.hpp"
#include "parse/byte_source.hpp"
#include "parse/classify.hpp"

namespace ccl {

/// What the selected metrics need beyond GPU events, launches, steps, groups and collectives. Fewer wants = faster.
struct Wants {
  bool annotations = false;     // user_annotation slices
  bool cpu_ops = false;         // cpu_op slices that match a rule, with autograd sequence numbers
  bool python = false;          // python_function slices that match a rule
  bool runtime_calls = false;   // runtime slices that synchronise
  bool kernel_shapes = false;   // occupancy
  bool memory_sizes = true;     // bytes of copies
  bool counters = false;        // hardware counters
  bool memory_usage = false;    // what the allocator says, from instant events
  void unite(const Wants& other) {
    annotations |= other.annotations;
    cpu_ops |= other.cpu_ops;
    python |= other.python;
    runtime_calls |= other.runtime_calls;
    kernel_shapes |= other.kernel_shapes;
    memory_sizes |= other.memory_sizes;
    counters |= other.counters;
    memory_usage |= other.memory_usage;
  }
};

/// Which part of a file several workers read: of an SQLite export part `number` of `count` of its ranks, in the order
/// of their devices; of a Kineto trace its bytes, and part 0 puts the trace together. Part 0 speaks for the file as a
/// whole; another part may be empty.
struct FilePart {
  int number = 0, count = 1;
};

/// Between the readers of one file, who wait for each other. The parts of a Kineto trace come together: part `number` >
/// 0 gives parcels, part 0 takes as many from each, part after part.
class PartExchange {
 public:
  virtual ~PartExchange() = default;
  virtual void give(Bytes parcel) = 0;
  virtual Bytes take(int number) = 0;
  /// Of an SQLite export, once: whether it is so for any of the readers.
  virtual bool any(bool mine) { return mine; }
};

/// By other workers, for the time of one file: threads that run there read their parts, and the first reader the rest.
struct Lent {
  std::vector<int> parts;
  std::vector<Processors> processors;  // one set for each of the first of parts: no more threads than can run at once
};

struct Communicators;  // parse/nsys_survey.hpp

struct ReadOptions {
  Wants wants;
  FilePart part;
  PartExchange* parts = nullptr;  // for a file in parts
  Lent lent{};                    // to part 0
  const Communicators* communicators = nullptr;  // what the other exports of the run say of NCCL's communicators
  std::int64_t window_bytes = largest_window_bytes;  // tests make it tiny
  std::int64_t inflate_limit = 200;  // bytes of text per byte of a gzip file; 0 = none
  const Classifier* classifier = nullptr;
};

/// Called once per rank in the file, with a trace that is finished (sorted, steps assigned, groups filled in). The
/// reference is good until the call returns. The sink adds what only the run knows: file number, chosen steps,
/// dimensions of groups.
using TraceSink = std::function<void(RankTrace&)>;

class TraceReader {
 public:
  virtual ~TraceReader() = default;
  virtual void read(const TraceFile& file, const ReadOptions& options, Problems& problems, Progress& progress,
                    const TraceSink& sink) = 0;
};

/// Instead of read() for a part of a Kineto trace that is not read after all: nobody waits for it.
void pass_over_part(const ReadOptions& options);

std::unique_ptr<TraceReader> make_kineto_reader();
std::unique_ptr<TraceReader> make_nsys_sqlite_reader();
std::unique_ptr<TraceReader> make_nsys_json_reader();

/// The reader of a format; null when this build or version has none.
std::unique_ptr<TraceReader> make_reader(TraceFormat format);

}  // namespace ccl
