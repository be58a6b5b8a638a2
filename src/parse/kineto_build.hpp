// Events -> RankTrace. In: the text of one complete event after another, in file order. Out: the tables of a RankTrace
// in file order and file clock; finish() (parse/finish.hpp) does the rest.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/bytes.hpp"
#include "core/intervals.hpp"
#include "core/problems.hpp"
#include "core/tables.hpp"
#include "parse/kineto_communication.hpp"
#include "parse/kineto_event.hpp"
#include "parse/kineto_header.hpp"
#include "parse/kineto_usual.hpp"
#include "parse/launch_join.hpp"
#include "parse/loss_marks.hpp"
#include "parse/missing_kernels.hpp"
#include "parse/name_cache.hpp"
#include "parse/trace_reader.hpp"

namespace ccl {

/// A later part of a file hands on what depends on the parts before it as it was read.
enum class BuildsPart : std::uint8_t { first_or_whole, later };

/// What of a reader outlives a file: memory only.
struct KinetoMemory {
  RankTrace trace;
  LaunchJoin launches;
};

class KinetoBuilder {
 public:
  KinetoBuilder(const ReadOptions& options, KinetoMemory& memory, BuildsPart part = BuildsPart::first_or_whole);

  /// False if the text is not JSON.
  bool add(std::string_view text);
  /// Joins, moves times to baseTimeNanoseconds and takes over the header. origin: file, iteration of problems.
  void close(const TraceHeader& header, const Problem& origin, Problems& problems, std::span<const Processors> lent = {});
  RankTrace& trace() { return trace_; }
  /// So many damaged events stood behind the last one.
  void lost(std::int64_t count) {
    trace_.lost_events_count += count;
    marks_.lost(trace_.events_count);
  }
  /// Whether any object so far had a phase, as events of a trace have.
  bool any_event() const { return any_event_; }

  /// Of a later part, behind its absorb(): to be used for another one. What is known of names, lanes, threads and groups
  /// stays. False: that is too much to be kept.
  bool start_next_part();
  /// Whether what was read can be put together with other parts at all.
  bool can_be_a_part() const;
  /// Joins a later part to what is here (kineto_part.cpp). What names and threads are called here the part remembers: what
  /// start_next_part() keeps is not looked up again.
  void absorb(KinetoBuilder& part);

  // A later part on its way to another worker (kineto_parcels.cpp).
  Bytes pack_tables() const;
  std::size_t parcels_count() const;  // of events, at least one
  Bytes pack_events(std::size_t parcel) const;
  /// The other end, empty before: the tables, then all events in order.
  void unpack_tables(ByteReader& in);
  void unpack_events(ByteReader& in);

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
  struct Node;
  void add_node(std::uint32_t thread, std::int64_t start_ns, std::int64_t end_ns, std::string_view function);
  /// The node in which an operator may be a repeated one; null if there is none.
  Node* node_around(std::uint32_t thread, std::int64_t start_ns, std::string_view name);
  struct PartNumbers;
  void absorb_slices(const KinetoBuilder& part, const PartNumbers& numbers);
  void absorb_events(const KinetoBuilder& part, const PartNumbers& numbers);
  /// By number.
  std::vector<std::string_view> thread_keys() const;

  std::uint16_t lane(std::int32_t device, std::int64_t stream);
  std::uint32_t thread(const EventText& event);
  void count_launch(const KnownName& call) {
    ++trace_.launches_count;
    counts_.kernel_launches += call.kernel_launch ? 1 : 0;
    counts_.graph_launches += call.graph ? 1 : 0;
  }
  KernelCounts kernel_counts() const;
  /// Leaves out what is told to have been on a GPU outside the recording; how many that are.
  std::int64_t leave_out_unrecorded(std::span<const Processors> lent);
  void shift_times(std::int64_t base_ns, std::span<const Processors> lent);

  Wants wants_;
  RankTrace& trace_;
  LaunchJoin& launches_;
  LossMarks marks_;
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

  /// In a later part: a node, or an operator that may be repeated in one.
  struct Operator {
    std::int64_t start_ns, end_ns;
    std::uint64_t slices_before;
    std::uint32_t thread, name;  // of raw_names_; of a node its function
    std::int32_t sequence;
    bool is_node;
  };
  BuildsPart builds_;
  std::vector<std::uint32_t> names_there_, threads_there_;  // of a later part: the numbers of its own where it was joined
  Column<Operator> operators_;
  StringTable raw_names_;

  Interval recorded_;  // as the profiler tells it; empty: it does not
  bool any_event_ = false;
  bool paired_ = false;  // there are events of a begin and an end
  /// Of all parts together; what is added here is handed on.
  struct Counts {
    std::int64_t negative = 0, out_of_range = 0, open_dropped = 0;
    std::int64_t no_time = 0, no_duration = 0;  // of events on a GPU
    std::int64_t kernel_launches = 0, graph_launches = 0;
  } counts_;
};

}  // namespace ccl
