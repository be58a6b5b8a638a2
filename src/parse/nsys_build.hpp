// Rows of a Nsight Systems export, in any order and from either export form, -> one RankTrace per process.
// Names may be strings that come later: they are resolved in build(). Times are ns since the start of the session.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/problems.hpp"
#include "core/tables.hpp"
#include "discover/discover.hpp"
#include "parse/missing_kernels.hpp"
#include "parse/nsys_survey.hpp"
#include "parse/step_markers.hpp"
#include "parse/trace_reader.hpp"

namespace ccl {

/// A kernel, copy or set. process = globalPid >> 24 (hardware, VM and process id).
struct NsysGpuRow {
  std::uint64_t process = 0;
  std::int64_t start_ns = 0, end_ns = 0;
  std::int32_t device = 0;
  std::int64_t stream = 0, correlation = 0;
  EventKind kind = EventKind::compute;
  std::int64_t name = -1;         // string id of a kernel
  std::string_view fixed_name;    // of copies and sets
  std::int64_t bytes = -1;
  std::int64_t blocks_count = -1, threads_per_block = -1;  // of a kernel, if shapes are wanted
};

/// A CUDA runtime or driver call (eventClass 0 and 1 only: back traces repeat the call under 67).
struct NsysCallRow {
  std::uint64_t thread = 0;       // globalTid
  std::int64_t start_ns = 0, end_ns = 0, correlation = 0, name = -1;
};

/// An NVTX range (types 59 and 60) or domain (75). end_ns absent = unfinished.
struct NsysRangeRow {
  std::uint64_t thread = 0;
  std::int64_t start_ns = 0, end_ns = absent_ns;
  std::int32_t type = 0, domain = 0;
  std::string_view text;          // or text_id
  std::int64_t text_id = -1;
  std::string_view json;
  std::span<const std::byte> payload;
};

/// What is known of a row that can not be used.
struct NsysLostRow {
  std::uint64_t process = 0;      // 0: any may have lost it
  bool launch = false;            // of a call
  bool gpu = false;               // of GPU work, with its launch if told
  EventKind kind = EventKind::compute;
  std::int64_t correlation = 0;
};

/// How one entry of an NVTX payload is found: by schema, name and offset, never by fixed ids.
struct NsysPayloadField {
  std::uint64_t schema = 0;
  std::string name;
  std::int64_t offset = 0;
  std::int64_t type = 0;          // 5 = int32, 18 = uint64, 22 = size_t
};

class NsysBuild {
 public:
  static constexpr std::int64_t graph_name = 0xFFFFFFFE;  // string ids of a file are small and dense

  NsysBuild(const TraceFile& file, const ReadOptions& options, Problems& problems);

  void string(std::int64_t id, std::string_view text);
  /// Strings may come after the rows that use them.
  void strings_come_in_any_order() { late_strings_ = true; }
  void gpu(const NsysGpuRow& row);
  void call(const NsysCallRow& row);
  /// Device memory taken (above 0) or given back by a process.
  void memory(std::uint64_t process, std::int32_t device, std::int64_t time_ns, std::int64_t change_bytes);
  void range(const NsysRangeRow& row);
  void payload_field(NsysPayloadField field);
  void thread_name(std::uint64_t thread, std::int64_t name);
  void mpi_rank(std::uint64_t thread, std::int64_t rank);
  /// Event time 0 by the wall clock and by the host's clock since boot; −1 = not told.
  void session(std::int64_t utc_epoch_ns, std::int64_t system_clock_ns);
  /// Of the processes with GPU work in the file, with their lowest devices, one part is wanted, in the order of devices;
  /// part 0 has all other processes too. The others' rows may be given where they name ranks or communicators.
  void share(const std::map<std::uint64_t, std::int32_t>& all, FilePart part);
  bool owns_thread(std::uint64_t global_tid) const { return processless_ || !others_.contains(global_tid >> 24); }
  /// The table of kernels names no process: all of the file is one.
  void processes_are_unknown() { processless_ = true; }
  void processes_are_known() { process_column_ = true; }
  bool knows_processes() const { return process_column_; }
  /// Instead of build(), after nothing but names and ranges: the session, and the seats of processes whose ranks are
  /// told.
  NsysSurvey survey();

  /// The export has wall clock times already.
  void times_are_normalised();
  void host(std::string_view name);
  /// sm_count ≤ 0: unknown. The first GPU stands for all.
  void gpu_description(std::string_view name, std::int64_t memory_bytes, std::int64_t sm_count);
  const Wants& wants() const { return options_.wants; }
  /// The GPU that counters call gpu_id is the CUDA ordinal of a process; pid −1: of all that do not say.
  void gpu_ordinal(std::int64_t gpu_id, std::int64_t pid, std::int64_t ordinal);
  void counter_name(std::int64_t type, std::int64_t metric, std::string_view name);
  void counter(std::int64_t time_ns, std::int64_t type, std::int64_t metric, std::int64_t value);
  /// RANK="3" and the like of the captured process; other variables are not kept.
  void environment(std::string_view assignment);
  /// Of the file as a whole; no step is made of them.
  void lost(std::int64_t rows);
  void lost_row(const NsysLostRow& row);
  /// A table that steps are made of ended before its last row.
  void cut() { cut_ = true; }
  bool any_process_missing() const { return processless_; }

  /// Finishes every process with GPU events and hands it over, lowest device first.
  void build(const TraceSink& sink);

 private:
  struct Launch {
    std::int64_t correlation, start_ns;
    std::uint32_t thread;
    std::uint32_t name;            // the low half of a string id, as that of a kernel
  };
  struct Range {
    std::int64_t start_ns, end_ns;
    std::uint32_t thread;
    std::int32_t domain;
    std::int64_t text_id;          // ≥ 0: a string of the file; else −1 − index into texts_
    std::int64_t bytes = -1;       // NCCL payload: message size
    std::uint64_t communicator = 0;
    std::int32_t comm_rank = -1, comm_size = -1, peer = -1;
  };
  /// Work that was not read, where it would stand among the events in file order.
  struct LostWork {
    std::size_t at = 0;
    EventKind kind = EventKind::compute;
    std::int64_t correlation = 0;
  };
  /// One process's place in a communicator, from its CommInitRank or CommSplit.
  struct Seat {
    std::int32_t place = -1, size = -1;
  };
  /// What the text of a range says, worked out once for each text.
  struct TextFacts {
    std::int64_t step = -1;
    std::int32_t step_kind = -1;  // of the word that says so
    std::int32_t sequence = -1, rank = -1, world = -1;
    bool sits_down = false;   // names a place in a communicator
    bool own_of_nccl = false;
    bool wanted = false;
    bool unknown = false;     // its string is not in the file
  };
  struct Process {
    RankTrace trace;
    std::int32_t lowest_device = 0;
    Column<Launch> launches;
    std::vector<Range> ranges;
    std::vector<LostWork> lost_work;
    std::int64_t lost_rows = 0, lost_of_any = 0;
    std::int64_t nameless_kernels = 0, nameless_ranges = 0;
    KernelCounts kernels;
    Interval recorded;             // from the first to the last of its calls and ranges
    std::int64_t unrecorded = 0;
    InvalidMarkers invalid_markers;
    bool lost_launches = false;
    std::vector<NsysCallRow> calls;  // whose names are not known yet
    std::map<std::uint64_t, std::uint32_t> threads;
    std::uint64_t last_tid = 0;
    std::uint32_t last_thread = 0;
    std::int32_t labelled_rank = -1, mpi_rank = -1;
    std::int64_t labelled_world = -1;
    std::map<std::uint64_t, Seat> seats;              // by communicator
    std::vector<std::uint64_t> group_communicators;   // by row of trace.groups; 0 = the group "all"
  };

  Process& process(std::uint64_t key);
  std::uint32_t thread(Process& process, std::uint64_t global_tid);
  std::string_view text_of(const Range& range) const;
  const TextFacts& facts_of(const Range& range);
  void set_text(Range& range, std::string_view raw);
  void decode_payload(const NsysRangeRow& row, Range& range);
  /// The rows of kernels whose names the file does not hold; empty if there are none.
  std::vector<bool> resolve_names(Process& process);
  void count_kernels(Process& process) const;
  static void leave_out_unusable(Process& process, std::vector<bool> nameless);
  void lose_launches_without_kernel(Process& process) const;
  void report_losses(const Process& process);
  static void sum_memory(RankTrace& trace);
  void join_launches(Process& process);
  static void note_lost_work(Process& process, EventKind kind, std::int64_t correlation);
  static Interval launches_around(const RankTrace& trace, const LostWork& lost);
  void settle_losses(Process& process) const;
  /// False: the row is kept until it is known whether rows name their processes.
  bool decide_on_processes(const NsysGpuRow& row);
  void take_nameless();
  void read_ranges(Process& process);
  void add_collectives(Process& process);
  void mark_autograd_threads(Process& process);
  void repeat_backward(Process& process);
  std::uint32_t group_row(Process& process, std::uint64_t communicator);
  void add_call(Process& process, Collective& into, const Range& call);
  void settle_exchange(Process& process, Collective& into, const std::vector<const Range*>& calls);
  void name_mpi_ranks();
  void read_identity(Process& process);
  void add_synchronising(Process& process, const NsysCallRow& call);
  static Seat largest_seat(const Process& process);
  static bool largest_communicators_differ(const std::vector<Process*>& ordered);
  void assign_ranks(std::vector<Process*>& ordered);
  void place_members(const std::vector<Process*>& ordered, const std::vector<Process*>& own);
  static void take_seat(Process& process, const Range& range);
  void settle_shapes(RankTrace& trace) const;
  void add_counters(std::uint64_t key, Process& process) const;
  void hand_over(Process& process, const TraceSink& sink);

  const TraceFile& file_;
  const ReadOptions& options_;
  Problems& problems_;
  std::map<std::uint64_t, Process> processes_;
  // Neighbouring rows are of one process and thread more often than not.
  std::uint64_t last_key_ = 0;
  Process* last_process_ = nullptr;
  std::unordered_map<std::int64_t, std::string> strings_;
  std::set<std::int64_t> synchronising_;  // ids of calls that wait for the GPU
  std::set<std::uint32_t> kernel_calls_, graph_calls_;  // of calls that launch a kernel, a graph: low halves
  bool late_strings_ = false;
  StringTable texts_;                 // texts written into rows themselves (without numbers), copies and sets
  struct RecentText {
    std::string text;
    std::uint32_t index = 0;
  };
  std::vector<RecentText> recent_texts_;  // by a hash of a few bytes; looked at first
  std::unordered_map<std::int64_t, TextFacts> facts_;  // by Range::text_id, when all strings are known
  std::vector<NsysPayloadField> payload_fields_;
  std::vector<std::pair<std::uint64_t, std::int64_t>> thread_names_, mpi_ranks_;
  struct Sample {
    std::int64_t time_ns, type, metric;
    std::int32_t percent;
  };
  std::map<std::pair<std::int64_t, std::int64_t>, std::uint32_t> counter_names_;
  std::vector<Sample> samples_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> ordinals_;  // (GPU id, pid or −1)
  std::int64_t epoch_ns_ = 0, system_clock_ns_ = -1;
  bool normalised_ = false;
  std::string host_, gpu_name_;
  std::int64_t gpu_memory_bytes_ = -1, sm_count_ = -1;
  std::int32_t gpus_ = 0;
  std::map<std::string, std::int64_t> environment_;
  std::int64_t lost_rows_ = 0, lost_of_any_ = 0;  // of the file; those of GPU work that name no process
  bool lost_launches_ = false;                    // calls that name no process
  bool cut_ = false;
  std::vector<NsysGpuRow> nameless_;
  bool processless_ = false, process_column_ = false;
  std::map<std::uint64_t, std::int32_t> others_;  // processes with GPU work that other readers have, lowest device
  bool speaks_ = true;                            // for the file as a whole
};

}  // namespace ccl
