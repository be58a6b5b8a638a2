#include "exchange/sequence_steps.hpp"

#include <algorithm>
#include <set>

#include "core/collective_math.hpp"

namespace ccl {
namespace {

/// Rows of one step joined; none where two steps share a number.
std::vector<StepSequences> joined(std::vector<StepSequences> rows) {
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.step < b.step; });
  std::vector<StepSequences> steps;
  for (const StepSequences& row : rows) {
    if (steps.empty() || steps.back().step != row.step) steps.push_back(row);
    steps.back().first = std::min(steps.back().first, row.first);
    steps.back().last = std::max(steps.back().last, row.last);
  }
  std::sort(steps.begin(), steps.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  const auto overlap = [](const StepSequences& a, const StepSequences& b) { return b.first <= a.last; };
  if (std::adjacent_find(steps.begin(), steps.end(), overlap) != steps.end()) steps.clear();
  return steps;
}

}  // namespace

std::size_t home_of(const GroupInIteration& group, std::size_t workers) {
  const auto& [id, iteration, replica] = group;
  return hash_combine(hash_combine(id.value, static_cast<std::uint64_t>(iteration + 1)),
                      static_cast<std::uint64_t>(replica + 1)) %
         workers;
}

bool is_numbered(const CollectiveRecord& record, const Group& group) {
  return group.sequence_everywhere && record.sequence >= 0 && !is_point_to_point(record.op);
}

std::vector<StepSequences> sequences_of(const std::vector<CollectiveRecord>& records, const Groups& groups) {
  std::map<std::pair<GroupInIteration, std::int64_t>, StepSequences> rows;
  StepSequences* last = nullptr;  // records come in runs
  const Group* group = nullptr;
  for (const CollectiveRecord& record : records) {
    if (record.step == outside_step) continue;
    if (group == nullptr || group->id != record.group) group = groups.find(record.group);
    if (group == nullptr || !is_numbered(record, *group)) continue;
    const auto key = std::pair(GroupInIteration(record.group, record.iteration, record.replica), record.step);
    if (last == nullptr || std::pair(last->key(), last->step) != key) {
      const auto [at, added] = rows.try_emplace(key);
      last = &at->second;
      if (added) *last = {record.group, record.iteration, record.replica, record.step, record.sequence, record.sequence};
    }
    last->first = std::min(last->first, record.sequence);
    last->last = std::max(last->last, record.sequence);
  }
  std::vector<StepSequences> list;
  for (const auto& [key, row] : rows) list.push_back(row);
  return list;
}

SequenceSteps::SequenceSteps(std::vector<StepSequences> rows) {
  for (StepSequences& row : rows) groups_[row.key()].push_back(row);
  for (auto& [key, steps] : groups_) steps = joined(std::move(steps));
}

const std::vector<StepSequences>* SequenceSteps::steps_of(const GroupInIteration& group) const {
  const auto found = groups_.find(group);
  return found == groups_.end() || found->second.empty() ? nullptr : &found->second;
}

std::int64_t step_by_sequence(const CollectiveRecord& record, const std::vector<StepSequences>& steps) {
  if (record.step != outside_step) return record.step;
  const auto behind = std::upper_bound(steps.begin(), steps.end(), record.sequence,
                                       [](std::int64_t number, const StepSequences& s) { return number < s.first; });
  return behind != steps.begin() && record.sequence <= std::prev(behind)->last ? std::prev(behind)->step : outside_step;
}

std::vector<StepSequences> SequenceSteps::rows() const {
  std::vector<StepSequences> all;
  for (const auto& [key, steps] : groups_) all.insert(all.end(), steps.begin(), steps.end());
  return all;
}

SequenceSteps agree_on_sequences(const std::vector<CollectiveRecord>& records, const Groups& groups, const Comm& comm,
                                 std::int64_t& sent) {
  const auto workers = static_cast<std::size_t>(comm.num_workers());
  const auto exchanged = [&](std::vector<std::vector<StepSequences>> out) {
    for (std::size_t w = 0; w < workers; ++w)
      if (w != static_cast<std::size_t>(comm.worker()))
        sent += static_cast<std::int64_t>(out[w].size() * sizeof(StepSequences));
    return exchange_rows(comm, std::move(out));
  };
  std::vector<std::vector<StepSequences>> out(workers), back(workers);
  for (StepSequences row : sequences_of(records, groups)) {
    row.worker = comm.worker();
    out[home_of(row.key(), workers)].push_back(row);
  }
  const std::vector<StepSequences> came = exchanged(std::move(out));
  std::map<GroupInIteration, std::set<std::int32_t>> askers;
  for (const StepSequences& row : came) askers[row.key()].insert(row.worker);
  for (const StepSequences& row : SequenceSteps(came).rows())
    for (const std::int32_t worker : askers[row.key()]) back[static_cast<std::size_t>(worker)].push_back(row);
  return SequenceSteps(exchanged(std::move(back)));
}

}  // namespace ccl
