// Events -> RankTrace. In: the text of one complete event after another, in file order. Out: the tables of a RankTrace
// in file order and file clock; finish() (parse/finish.hpp) does the rest.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/problems.hpp"
#include "core/tables.hpp"
#include "parse/kineto_communication.hpp"
#include "parse/kineto_event.hpp"
#include "parse/kineto_header.hpp"
#include "parse/kineto_usual.hpp"
#include "parse/launch_join.hpp"
#include "parse/name_cache.hpp"
#include "parse/trace_reader.hpp"

namespace ccl {

/// What of a reader outlives a file: memory only.
struct KinetoMemory {
  RankTrace trace;
  LaunchJoin launches;
};

class KinetoBuilder {
 public:
  KinetoBuilder(const ReadOptions& options, KinetoMemory& memory);

  /// False if the text is not JSON.
  bool add(std::string_view text);
  /// Joins, moves times to baseTimeNanoseconds and takes over the header. origin: file, iteration of problems.
  void close(const TraceHeader& header, const Problem& origin, Problems& problems);
  RankTrace& trace() { return trace_; }
  /// Whether any object so far had a phase, as events of a trace have.
  bool any_event() const { return any_event_; }

 private:
  bool add_looked_at(std::string_view text);
  /// False: the general reader must look.
  bool add_usual_gpu(Category category, const char* name, const char* end);
  bool add_usual_call(const char* name, const char* end);
  /// An event with its times in ns.
  void add_complete(const EventText& event, std::int64_t start_ns, std::int64_t dur_ns);
  void add_timed(const EventText& event);
  void add_begin(const EventText& event, std::string_view text);
  void add_end(const EventText& event);
  void add_memory_usage(const EventText& event);
  void add_gpu(const EventText& event, std::int64_t start_ns, std::int64_t dur_ns);
  /// Of a known name and lane.
  void add_gpu_row(Category category, KnownName& name, std::int64_t start_ns, std::int64_t dur_ns, std::uint16_t on_lane,
                   const GpuArguments& arguments, std::string_view text);
  void add_runtime(const EventText& event, std::int64_t start_ns, std::int64_t dur_ns);
  void add_cpu(const EventText& event, std::int64_t start_ns, std::int64_t dur_ns);
  void add_slice(SliceKind kind, const EventText& event, std::int64_t start_ns, std::int64_t dur_ns);
  /// An operator that no rule asks for: kept if it repeats a forward inside a backward, the outermost of each.
  void add_repeated(const EventText& event, std::int64_t start_ns, std::int64_t dur_ns);

  std::uint16_t lane(std::int32_t device, std::int64_t stream);
  std::uint32_t thread(const EventText& event);
  void shift_times(std::int64_t base_ns);

  Wants wants_;
  RankTrace& trace_;
  LaunchJoin& launches_;
  NameCache names_;
  EventFilter filter_;
  CommunicationRows communication_;
  UsualEvents usual_gpu_{UsualKind::gpu_event}, usual_calls_{UsualKind::launch};

  std::map<std::pair<std::int32_t, std::int64_t>, std::uint16_t> lanes_;
  Lane last_lane_;
  std::uint16_t last_lane_number_ = 0;
  std::unordered_map<std::string, std::uint32_t> threads_;
  std::string last_thread_, thread_key_;
  std::uint32_t last_thread_number_ = 0;
  std::unordered_map<std::string, std::vector<std::string>> open_;  // B events without their E, by thread
  std::size_t open_bytes_ = 0;

  /// By thread: the autograd node that was read last, and until when a repeated operator lasts.
  struct Node {
    std::int64_t end_ns = absent_ns, repeated_until_ns = absent_ns;
    std::string function;
  };
  std::unordered_map<std::uint32_t, Node> nodes_;

  bool any_event_ = false;
  std::int64_t negative_count_ = 0, out_of_range_count_ = 0, open_dropped_count_ = 0;
  std::int64_t no_time_count_ = 0, no_duration_count_ = 0;  // of events on a GPU
};

}  // namespace ccl
