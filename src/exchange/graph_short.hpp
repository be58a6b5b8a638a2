// A step graph with fewer operations and the same replays, in the order in which they are replayed: for what is replayed
// many times. Pure. In: a StepGraph with measured and ideal times. Out: the same where operations that only follow one
// another on one device are one, and the length of the step when some operations take another time.
#pragma once
#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/fetch.hpp"
#include "exchange/measured_graph.hpp"

namespace ccl {

/// What tells which cases change an operation. A rank has few kinds, so they are asked instead of the operations.
struct ShortKind {
  std::int32_t rank_row = -1;
  CollectiveOp op = CollectiveOp::unknown;
  Dimension dimension = Dimension::unknown;
  bool with_others = false;     // communication that needs other ranks
  bool transfer_known = false;  // false: its waits for ranks that are not here cannot be told
  friend bool operator==(const ShortKind&, const ShortKind&) = default;
};

/// Stands for itself and those joined to it: all of its rank, and communication with others alone.
struct ShortOp {
  std::uint32_t kind = 0;  // of ShortGraph::kinds
  std::int32_t match = -1;
};

struct ShortTimes {
  std::int64_t measured_gap_ns = 0, ideal_gap_ns = 0;
  std::int64_t measured_run_ns = 0, ideal_run_ns = 0;
};

/// By operation, 16 bytes each: every pass over a step reads them all. Those of an operation with a time above 2 s lie apart,
/// and what few passes read: how long communication with others runs where its transfer takes no time (hidden; 0 of all else, so
/// such a case must want nothing else).
class ShortTimesList {
 public:
  explicit ShortTimesList(std::size_t count = 0) : near_(count), near_hidden_run_ns_(count) {}
  ShortTimes operator[](std::size_t i) const {
    const Near& near = near_[i];
    if (near.measured_gap_ns == is_far) [[unlikely]]
      return far_.at(i).times;
    return {near.measured_gap_ns, near.ideal_gap_ns, near.measured_run_ns, near.ideal_run_ns};
  }
  std::int64_t hidden_run_ns(std::size_t i) const {
    return near_[i].measured_gap_ns == is_far ? far_.at(i).hidden_run_ns : near_hidden_run_ns_[i];
  }
  void add(std::size_t i, const ShortTimes& more, std::int64_t hidden_run_ns);
  /// What add() is about to need.
  void fetch(std::size_t i) const { fetch_of(i, near_, near_hidden_run_ns_); }

 private:
  static constexpr std::int32_t is_far = std::numeric_limits<std::int32_t>::min();
  struct Near {
    std::int32_t measured_gap_ns = 0, ideal_gap_ns = 0, measured_run_ns = 0, ideal_run_ns = 0;
  };
  struct Far {
    ShortTimes times;
    std::int64_t hidden_run_ns = 0;
  };
  std::vector<Near> near_;
  std::vector<std::int32_t> near_hidden_run_ns_;
  std::unordered_map<std::size_t, Far> far_;
};

struct ShortGraph {
  std::vector<ShortOp> ops;  // so that all that one waits for comes before it
  std::vector<ShortKind> kinds;  // in order of rank rows, several each
  ShortTimesList times;      // by operation; apart, since cases are told by the one and replayed by the other
  std::vector<std::uint32_t> first_pred, preds;
  std::vector<std::uint32_t> first_member, members;  // of a match
  std::span<const std::uint32_t> preds_of(std::size_t i) const {
    return std::span(preds).subspan(first_pred[i], first_pred[i + 1] - first_pred[i]);
  }
  std::span<const std::uint32_t> members_of(std::size_t m) const {
    return std::span(members).subspan(first_member[m], first_member[m + 1] - first_member[m]);
  }
};
/// Joins an operation to the one before if it waits for nothing else, nothing else waits for that, and neither
/// communicates with other ranks. Gaps and durations add up, so any choice of measured or ideal ones by rank gives the same ends.
ShortGraph shorten(const MeasuredGraph& graph, const GraphTimes& ideal);

constexpr std::size_t cases_at_once = 4;
static_assert(2 * cases_at_once == 8);  // bits of a byte, and numbers of 64 bits in a line of the cache
/// Which cases change the time of an operation of a kind, and its gap: bit c of case c.
class CaseBits {
 public:
  void set(std::size_t number, bool of_run, bool of_gap) {
    const unsigned more = (of_run ? 1U : 0U) | (of_gap ? 1U : 0U) << cases_at_once;
    bits_ = static_cast<std::uint8_t>(bits_ | more << number);
  }
  std::uint8_t run() const { return bits_ & ((1U << cases_at_once) - 1); }
  std::uint8_t gap() const { return static_cast<std::uint8_t>(bits_ >> cases_at_once); }

 private:
  std::uint8_t bits_ = 0;
};
/// What is changed takes its ideal time, or (communication with others) none for its transfer.
enum class ShortChange : std::uint8_t { ideal, hidden };
struct CaseLengths {
  std::int64_t fixed_ns = 0;  // measured, but what is changed
  std::int64_t only_ns = 0;   // ideal, but measured what is changed
};

/// A step replayed by many cases, four of them in one pass: each pass reads the whole graph from front to back, but an end is
/// kept only until the last that waits for it has begun, so that those of a large step stay in the cache.
class CaseReplays {
 public:
  /// lent: passes run there side by side; memory: 12 bytes an operation, 4 each that waits for another and 4 a member of a match;
  /// for each pass a byte a kind and 128 an end that is kept.
  explicit CaseReplays(const ShortGraph& graph, std::span<const Processors> lent = {});
  /// wanted(kind, run): whether the times (run) or the gaps of its operations are changed. Returns the number of the case.
  template <class Wanted>
  std::size_t add(ShortChange change, Wanted wanted) {
    Pass& into = room_for(change);
    for (std::size_t k = 0; k < into.bits.size(); ++k)
      into.bits[k].set(into.cases_count, wanted(graph_.kinds[k], true), wanted(graph_.kinds[k], false));
    ++into.cases_count;
    return asked_++;
  }
  /// By number of a case that was added.
  CaseLengths of(std::size_t number) {
    if (number >= lengths_.size()) run();
    return lengths_[number];
  }

 private:
  // fixed_ns of each case, then only_ns. One line of the cache: they lie anywhere in memory.
  struct alignas(64) Lanes : std::array<std::int64_t, 2 * cases_at_once> {};
  /// What is kept of an operation while others wait for its end.
  struct Kept {
    Lanes end_ns;  // its start while members of its match are missing
    Lanes run_ns;  // of a member of a match: how long it runs once all have started
  };
  /// What an operation does when it comes to its turn.
  enum class Joins : std::uint8_t { nobody, match, match_as_last };
  struct Turn {
    std::uint32_t place = 0;  // of kept
    std::uint32_t preds_count : 30 = 0;
    std::uint32_t joins : 2 = 0;
    std::uint32_t kind = 0;
  };
  /// Cases that are replayed at once.
  struct Pass {
    std::vector<CaseBits> bits;  // by kind
    std::vector<Kept> kept;      // by place
    ShortChange change = ShortChange::ideal;
    std::size_t cases_count = 0;
    Lanes length_ns{};
  };
  /// The pass that the next case goes into.
  Pass& room_for(ShortChange change);
  /// All passes that wait.
  void run();
  /// The lengths of its cases, set in place: GCC 12 gives the caller of a function that returns a whole line of the cache less
  /// room than its alignment. Also compiled for processors that take eight sums or maxima at a time.
  void replay(Pass& pass) const;
  void replay_avx512(Pass& pass) const;
  /// Gives each operation a place for its end and takes it back; notes what a pass reads, in the order in which it does.
  void take_turns();

  const ShortGraph& graph_;
  std::span<const Processors> lent_;
  std::vector<Turn> turns_;                 // by operation
  std::vector<std::uint32_t> pred_place_;   // for each of ShortGraph::preds
  std::vector<std::uint32_t> member_place_, members_count_;  // of matches, in the order in which their last members start
  std::uint32_t places_count_ = 0;
  std::vector<Pass> passes_;      // the first waiting_ of them wait; the memory of the others is used again
  std::size_t waiting_ = 0, asked_ = 0;
  std::vector<CaseLengths> lengths_;
};

}  // namespace ccl
