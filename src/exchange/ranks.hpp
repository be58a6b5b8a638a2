// After parsing: the workers agree which trace counts as which rank of the run, on which host it ran and which steps
// ranks share. resolve_ranks() is pure and gives the same answer on every worker; agree_on_ranks() adds one
// gather_all of RankFacts (cost: ranks × (about 200 bytes + 40 per step)).
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "comm/comm.hpp"
#include "config/config.hpp"
#include "core/bytes.hpp"
#include "core/problems.hpp"
#include "core/tables.hpp"
#include "discover/discover.hpp"

namespace ccl {

/// What one parsed trace says of itself, without its events. (worker, local) names it.
struct RankFacts {
  std::int32_t worker = 0, local = 0;      // trace number on its worker, in reading order
  std::int32_t file = -1;
  std::int32_t iteration = -1, replica = -1;
  RankId rank;                             // from content
  RankSource rank_source = RankSource::content;
  std::int64_t world_size = -1;
  std::int64_t least_world_size = -1;      // its process groups have so many ranks, or one just below
  std::int64_t events_count = 0, gpu_events_count = 0, outside_events_count = 0, lost_events_count = 0;
  FileLoss loss = FileLoss::nothing;
  std::int64_t first_ns = absent_ns, last_ns = absent_ns;  // first GPU start, last GPU end, trace clock
  std::int32_t gpus_in_node = 0;
  std::int64_t gpu_memory_bytes = -1;
  bool has_launches = false;
  std::uint64_t fingerprint = 0;
  std::string host, gpu, framework_version;
  std::vector<std::int32_t> devices;
  std::vector<Step> steps;

  bool damaged() const { return loss != FileLoss::nothing || lost_events_count > 0; }
  /// What is counted per step of a rank is counted over these, and divided by their number.
  std::int64_t whole_steps_count() const {
    return std::count_if(steps.begin(), steps.end(), [](const Step& step) { return !step.lost_events; });
  }
  bool lost_steps() const {
    return std::any_of(steps.begin(), steps.end(), [](const Step& step) { return step.lost_events; });
  }
  void pack(ByteWriter& out) const;
  static RankFacts unpack(ByteReader& in);
};
RankFacts facts_of(const RankTrace& trace, std::int32_t local);

/// One accepted rank, = one row of /ranks. Sorted by (iteration, replica, rank); the row number is its RankRow.
struct RankEntry {
  RankFacts facts;
  std::int32_t iteration = -1, replica = -1;
  RankId rank;
  RankSource source = RankSource::none;
  std::string host;                        // key; unique text per host, "?<rank>" when unknown
  HostSource host_source = HostSource::unknown;
  std::int32_t host_index = -1;            // into Ranks::hosts
  RankStatus status = RankStatus::ok;
  std::int64_t step_shift = 0;             // added to this rank's step numbers before matching
  bool takes_part = true;                  // in cross-rank numbers
  std::string_view no_steps;               // why it is told by no step: it has markers where most others have none, or none
};

/// "host node10"; a host that has no name is said by its ranks: "the host of ranks 4-7", of "?5" "the host of rank 5".
std::string host_text(const std::string& host);

/// A file that should hold ranks but gave none.
struct UnreadFile {
  std::string file, why;                   // path as shown; "database disk image is malformed", else the warning's name
};

/// GPUs of a node as the files list them, 0 if none does. What a damaged file lists may be anything: only where no whole
/// file lists them it counts, then what most of them say; of_damaged: that is so.
struct NodeGpus {
  std::int64_t count = 0;
  bool of_damaged = false;
};
NodeGpus gpus_in_node(const std::vector<RankEntry>& entries);

struct Ranks {
  std::vector<RankEntry> entries;
  std::vector<std::string> hosts;          // sorted; a clock domain each
  std::vector<RankFacts> left_out;         // files named in the warnings
  std::vector<UnreadFile> unread;          // by name; a missing rank may be in one of them
  std::int64_t world_size = -1;
  std::int64_t expected = 0;               // ranks_expected
  std::vector<std::int32_t> missing;       // rank numbers without a trace in any iteration
  std::int64_t ranks_per_host = 0;         // where hosts are aligned blocks of ranks; 0 otherwise
  std::map<std::int32_t, std::string> host_map;  // --host-map

  /// Row of a worker's local trace; −1 if it was left out.
  std::int32_t row_of(std::int32_t worker, std::int32_t local) const;
  /// Row by key; −1 if absent.
  std::int32_t find(std::int32_t iteration, std::int32_t replica, RankId rank) const;
  /// Host by row of the entries. For what asks once a record: entries are large.
  std::vector<std::int32_t> hosts_by_row() const;
  /// Who has ranks, ascending.
  std::vector<int> workers() const;
  /// Distinct rank numbers present.
  std::int64_t covered() const;
  /// intra, inter or unknown for a set of ranks of one (iteration, replica). A rank without a trace has the host that
  /// --host-map, or the block it lies in, gives it.
  LinkClass link_class(std::int32_t iteration, std::int32_t replica, std::span<const std::int32_t> ranks) const;
};

/// What a reader can do about the hosts of two ranks: "give --host-map".
std::string host_map_advice(const Ranks& ranks, std::int32_t a, std::int32_t b);

/// A rank is what the file says, else its name; a host what the file, --host-map, the name or blocks of
/// GPUs per node say; steps of one number belong together, after a constant shift where one fits all. Does not depend
/// on the order of the facts.
Ranks resolve_ranks(std::vector<RankFacts> facts, const Input& input, const Config& config, Problems& problems);
/// Collective. Warnings are added on worker 0 only.
Ranks agree_on_ranks(const std::vector<RankFacts>& mine, const Input& input, const Config& config, const Comm& comm,
                     Problems& problems);

}  // namespace ccl
