// What the files of matching share: candidates of one group, the instances being built, and the checks on them.
// match_steps.cpp finds partners, match_numbers.cpp says what a match means, match_check.cpp whether to believe it.
#pragma once
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/processors.hpp"
#include "exchange/match.hpp"
#include "exchange/split_lists.hpp"

namespace ccl {

/// Whether In and Out contradict the group size n (all_gather: out = n·in; reduce_scatter: in = n·out).
bool sizes_disagree(const CollectiveRecord& record, std::int64_t n);
/// Payload S of one member, bytes; the larger of In and Out where they contradict n. −1 unknown.
std::int64_t payload_of(const CollectiveRecord& record, std::int64_t n);
/// What partners must have in common: op, dtype and S; op and dtype where members may differ in S.
std::uint64_t signature_of(const CollectiveRecord& record);

/// Why a collective has no partner, or what is inconsistent in one that has; text in the warning.
enum class Unmatched : std::uint8_t {
  none, outside_steps, step_only_here, alone, unequal, other_operation, peer_unknown, operation_unknown, takes_no_part,
  own_sizes, pair_disagrees, sums_disagree
};
std::string_view to_text(Unmatched cause);

/// Counts by group and step: problems must not depend on how many workers share the work.
struct MatchCounts {
  struct Key {
    std::int32_t iteration, replica;
    GroupId group;
    std::int64_t step;
    Code code;
    Unmatched cause;  // of collective_unmatched and inout_disagree
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  /// Whom to name: the rank with most of them, and what is wrong with the worst of them, of equal ones the first.
  struct Sum {
    std::int64_t count = 0, worst = 0;
    std::map<std::int32_t, std::int64_t> by_rank;
    std::string example;
  };
  std::map<Key, Sum> counts;
  /// example(): its text, asked for once a key.
  template <class Example>
  void unmatched(const CollectiveRecord& record, Unmatched cause, Example example) {
    Sum& sum = of({record.iteration, record.replica, record.group, record.step, Code::collective_unmatched, cause});
    if (sum.count == 0) sum.example = example();
    add_one(sum, record.rank.value);
  }
  void unmatched(const CollectiveRecord& record, Unmatched cause) {
    unmatched(record, cause, [] { return std::string(); });
  }
  void instance(const MatchedInstance& instance, Code code, const std::string& example = {});
  void inconsistent(const CollectiveRecord& record);
  /// by: how far apart the members are.
  void dispute(const MatchedInstance& instance, Unmatched cause, std::int64_t by, const std::string& example);
  void report(const Groups& groups, Problems& problems) const;

 private:
  static void add_one(Sum& sum, std::int32_t rank);
  Sum& of(const Key& key);
  Key last_key_{};  // they come in runs
  Sum* last_ = nullptr;
};

/// assemble() of records that stay where they are.
MatchedCollectives assemble(RecordRefs records, const Ranks& ranks, const Groups& groups, Problems& problems,
                            const SplitWords& splits);

/// assemble() where one worker has all ranks: records are all its own. Of a rank alone its steps are matched side by side.
MatchedCollectives assemble_own(const std::vector<CollectiveRecord>& records, const Ranks& ranks, const Groups& groups,
                                Problems& problems, const SplitWords& splits, std::span<const Processors> lent);

/// Of one group in one step.
inline bool same_step(const MatchedInstance& a, const MatchedInstance& b) {
  return a.iteration == b.iteration && a.replica == b.replica && a.group == b.group && a.step == b.step;
}

/// Instances in the making: instance i's members are refs [first_member, first_member + members_seen).
struct Drafts {
  std::vector<MatchedInstance> instances;
  RecordRefs members;
  /// members: at least two.
  void add(const RecordRefs& members_of_one, MatchRule rule, CollectiveOp op, std::int64_t step, std::int32_t ordinal,
           std::int64_t sequence = -1);
};

/// One group's candidates in one step: a list per member, by rank; each in order of time.
struct StepMember {
  std::int32_t rank = -1;
  RecordRefs records;
};
void match_collectives(const std::vector<StepMember>& members, Drafts& drafts, MatchCounts& counts);
void match_pairs(const std::vector<StepMember>& members, const Group& group, Drafts& drafts, MatchCounts& counts);
/// What a send and its receive have in common: dtype and size.
std::uint64_t pair_signature(const CollectiveRecord& record);
/// The rank that a send or receive is for: the one it names, in a group of two the other; −1 neither.
std::int32_t told_peer(const CollectiveRecord& record, const std::vector<StepMember>& members, const Group& group);
/// The same by elimination, of those that are not told, by the record; none for what stays unknown.
std::map<const CollectiveRecord*, std::int32_t> find_peers(const std::vector<StepMember>& members, const Group& group);
/// One group's candidates of one iteration, all steps, where every collective has its sequence number.
void match_by_sequence(const std::vector<StepMember>& members, Drafts& drafts, MatchCounts& counts);

/// Puts one group's drafts in order behind what is matched, with sizes and clock-free numbers; drafts are empty then.
void finish_drafts(Drafts& drafts, const Ranks& ranks, const Group& group, const SplitIndex& splits,
                   MatchedCollectives& matched, MatchCounts& counts);
/// Whether the members of an all-to-all agree on what each sends each; else that is counted.
void check_exchange(const MatchedInstance& instance, std::span<const CollectiveRecord* const> records,
                    const Group& group, const SplitIndex& splits, MatchCounts& counts);

/// Deviation of the ends of every instance from the median end difference of its members in that group and step,
/// in ns; −1 for what is not symmetric.
std::vector<std::int64_t> end_deviations_ns(const MatchedCollectives& matched);
/// Marks suspect instances from number first on; where too many are, the group's cross-rank numbers of that step become absent.
void check_ends(MatchedCollectives& matched, std::size_t first, MatchCounts& counts);

}  // namespace ccl
