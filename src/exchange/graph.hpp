// The dependency graph of one training step over all its ranks. In: the GPU events of each rank's steps (its chain),
// kept since parsing, with matched collectives. Out: one StepGraph per step at the worker that owns the step.
// Moves: about 12 bytes per GPU event in a step, 24 more per collective, to the step's owner. Memory: about 12 bytes per event
// of all own ranks since parsing; beyond that one step per worker at a time, per event of it about 150 bytes in the graph and what
// is worked out of it.
// Replay, ideal times and path are in graph_replay.hpp, graph_ideal.hpp and graph_path.hpp.
#pragma once
#include <compare>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "comm/comm.hpp"
#include "core/tables.hpp"
#include "exchange/chain.hpp"
#include "exchange/groups.hpp"
#include "exchange/match.hpp"
#include "exchange/ranks.hpp"

namespace ccl {

/// An event of a chain on the corrected clock. All passes over a step read these, so they are small: what only
/// communication has is told apart.
struct GraphOp {
  std::int64_t start_ns = 0, end_ns = 0, launch_ns = absent_ns;
  StringId name;
  std::int32_t rank_row = -1;       // row of /ranks
  std::int32_t communication = -1;  // of StepOps::communications; −1: none, or without a record
  std::uint16_t lane = 0;
  EventKind kind = EventKind::compute;
  std::int8_t device_row = 0;
  std::int64_t length_ns() const { return end_ns - start_ns; }
};

/// What the record of an operation tells the graph, with what the workers agreed on.
struct GraphCommunication {
  std::uint64_t instance = 0;  // equal for the members of one credible match, as instance_id tells it; 0: none
  std::int64_t payload_bytes = -1;
  std::int32_t group_size = -1;
  CollectiveOp op = CollectiveOp::unknown;
  Dimension dimension = Dimension::unknown;
  std::uint16_t unused = 0;    // it travels as it lies
};

/// place: among the matches of the worker that owns it, those of a step one behind the other.
constexpr std::uint64_t instance_id(int worker, std::size_t place) {
  return (static_cast<std::uint64_t>(worker) << 40) + place + 1;
}
constexpr std::size_t instance_worker(std::uint64_t id) { return static_cast<std::size_t>(id >> 40); }
constexpr std::size_t instance_place(std::uint64_t id) { return static_cast<std::size_t>(id & ((std::uint64_t{1} << 40) - 1)); }

struct StepOps {
  std::vector<GraphOp> ops;
  std::vector<GraphCommunication> communications;
  const GraphCommunication& communication_of(std::size_t i) const {
    static constexpr GraphCommunication none;
    const std::int32_t at = ops[i].communication;
    return at < 0 ? none : communications[static_cast<std::size_t>(at)];
  }
};

/// Operations of one step by (rank row, device, start). Op i waits for predecessors [first_pred[i], first_pred[i+1]): what
/// came before it on its own stream, and of each other stream of its device the last operation that had ended when it
/// started, there and on all devices that ran the same operations. Traces hold no event edges, so the order that was seen
/// everywhere is taken for the order that is needed. What the operation before on its stream waited for is not repeated, nor
/// what another of those that it waits for has waited for.
struct StepGraph : StepOps {
  StepId step;
  std::int32_t replica = -1;
  std::int64_t start_ns = 0, end_ns = 0;        // R: from the first start to the last end of the operations
  std::vector<std::uint32_t> first_pred, preds;
  std::vector<std::int32_t> match;              // by op: its match; −1: waits for no other rank
  std::vector<std::uint32_t> first_member, members;  // of a match, by rank; at least two
  std::vector<std::uint32_t> order;             // ops so that all that one waits for comes before it
  // Matches that contradict the order on the ranks are cut: of each the member that starts last and the one that ends
  // first. Their members wait for no other rank.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> cut;
  std::size_t size() const { return ops.size(); }
  std::int64_t length_ns() const { return end_ns - start_ns; }
  std::span<const std::uint32_t> preds_of(std::size_t i) const {
    return std::span(preds).subspan(first_pred[i], first_pred[i + 1] - first_pred[i]);
  }
  std::span<const std::uint32_t> members_of(std::size_t m) const {
    return std::span(members).subspan(first_member[m], first_member[m + 1] - first_member[m]);
  }
};

/// Which step, of which replica.
struct StepKey {
  StepId step;
  std::int32_t replica = -1;
  friend auto operator<=>(const StepKey&, const StepKey&) = default;
};

/// Pure. All ops are of one step; any order, but of those that start at one time on a device the one that comes first is first.
StepGraph link_graph(StepOps step, StepKey key = {});

/// Pure. The same where it is known what op i waits for: preds [first_pred[i], first_pred[i+1]), numbers of ops, without a cycle.
StepGraph graph_of(StepOps step, std::vector<std::uint32_t> first_pred, std::vector<std::uint32_t> preds,
                   StepKey key = {});

/// A chain with the place of its records among the worker's settled ones.
struct RankChain {
  std::int32_t rank_row = -1;
  Chain chain;
  std::vector<std::int64_t> step_numbers;       // by row of the trace's steps, shifted
  std::size_t first_record = 0;
};

/// Brings the operations of each step to its owner, one step per worker at a time: the steps in order are dealt round.
/// Ranks that take no part in cross-rank numbers are left out. References must outlive it.
class GraphGather {
 public:
  /// Collective.
  GraphGather(std::vector<RankChain> chains, const std::vector<CollectiveRecord>& records, const Matched& matched,
              const Ranks& ranks, const Groups& groups, const Comm& comm);
  std::size_t rounds_count() const;
  /// Who owns a step in this round, in the order of the steps. Fewer than the workers: spread evenly over them, and so over
  /// their nodes.
  std::vector<int> owners(std::size_t round) const;
  /// Collective: this worker's step of a round and its operations; none if there are fewer steps than workers.
  std::pair<StepKey, StepOps> step_of(std::size_t round);
  std::int64_t bytes_sent() const { return bytes_sent_; }

 private:
  /// One chain's share of a step.
  struct StepPart {
    std::uint32_t step = 0, chain = 0, row = 0;  // of steps_, of chains_, of the trace's steps
  };
  GraphCommunication of_record(std::size_t record) const;
  /// of: record of an event of the step → GraphCommunication.
  template <class Of>
  void add_step(std::int32_t rank_row, const ChainStep& step, Of of, StepOps& out) const;
  void add_own(const StepPart& part, StepOps& out) const;
  void add_arrived(std::int32_t rank_row, ByteReader& in, StepOps& out) const;
  void pack(std::span<const StepPart> parts, ByteWriter& out) const;
  std::size_t events_count(std::span<const StepPart> parts) const;

  std::vector<RankChain> chains_;
  const std::vector<CollectiveRecord>& records_;
  const Matched& matched_;
  const Ranks& ranks_;
  const Groups& groups_;
  const Comm& comm_;
  std::vector<std::uint64_t> instance_;  // by record
  std::vector<StepKey> steps_;           // of all ranks, alike on all workers
  std::vector<StepPart> parts_;          // of own chains, by step
  std::int64_t bytes_sent_ = 0;
};

}  // namespace ccl
