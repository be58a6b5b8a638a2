// Which sequence numbers of a group belong to which step, so that workers can share the matching of one group step by
// step. A number may lie in different steps on different members (at a border); then the group stays with one worker.
// Bytes moved: 48 for each group, iteration and step of a worker's ranks, and as many back.
#pragma once
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "comm/comm.hpp"
#include "exchange/groups.hpp"
#include "exchange/records.hpp"

namespace ccl {

/// What is matched together: a group in an iteration and replica.
using GroupInIteration = std::tuple<GroupId, std::int32_t, std::int32_t>;
/// One of the workers, by what decides: the same one everywhere.
std::size_t home_of(const GroupInIteration& group, std::size_t workers);

/// The numbers that members have in one step of a group: from first to last.
struct StepSequences {
  GroupId group;
  std::int32_t iteration = -1, replica = -1;
  std::int64_t step = outside_step;
  std::int64_t first = 0, last = 0;
  std::int32_t worker = 0;  // whose ranks say so
  std::int32_t unused = 0;
  GroupInIteration key() const { return {group, iteration, replica}; }
};

/// Whether a collective is matched by its number, whatever the step.
bool is_numbered(const CollectiveRecord& record, const Group& group);
/// Of one worker's records: a row for each group, iteration, replica and step, sorted by these.
std::vector<StepSequences> sequences_of(const std::vector<CollectiveRecord>& records, const Groups& groups);

/// Groups whose steps share no number, over all ranks.
class SequenceSteps {
 public:
  SequenceSteps() = default;
  /// rows: of all members of these groups, in any order.
  explicit SequenceSteps(std::vector<StepSequences> rows);
  /// By number; null where they share numbers, and where no rank has numbers in a step.
  const std::vector<StepSequences>* steps_of(const GroupInIteration& group) const;
  std::vector<StepSequences> rows() const;

 private:
  std::map<GroupInIteration, std::vector<StepSequences>> groups_;  // by first number; empty: steps share numbers
};

/// The step of a numbered collective: its own, else that of its number among the steps of its group, else outside_step.
/// The same for all members of an instance.
std::int64_t step_by_sequence(const CollectiveRecord& record, const std::vector<StepSequences>& steps);

/// The same answers on all workers that have ranks of a group. sent: grows by the bytes sent to others. Collective.
SequenceSteps agree_on_sequences(const std::vector<CollectiveRecord>& records, const Groups& groups, const Comm& comm,
                                 std::int64_t& sent);

}  // namespace ccl
