// Split lists of all-to-alls, apart from the records since few records have them. In: a finished trace. Out: words that
// travel to the owners of the records, and there the pairs of ranks whose lists disagree. Stage "match".
// Memory and traffic: 24 bytes per all-to-all with lists and 4 per entry of a list.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/tables.hpp"
#include "exchange/match.hpp"

namespace ccl {

/// Lists one after the other: those of a record are a SplitList's head and its entries.
using SplitWords = std::vector<std::uint32_t>;

/// What one record's lists say, by place in the group. Lists that the profiler cut end early.
struct SplitList {
  std::uint32_t record = 0;                                    // its number among the worker's records
  std::uint32_t worker = 0;                                    // who sent it
  std::uint32_t sent_bytes_each = 0, received_bytes_each = 0;  // of one row; 0: unknown, the list is cut
  std::span<const std::uint32_t> sent, received;               // rows
};

/// Lists of a trace whose first record has the number given, put behind those in words. Left out: lists of another
/// length than the group, and such with rows that leave 32 bits.
void add_splits(const RankTrace& trace, std::size_t first_record, SplitWords& words);

/// Calls use(list, its words) for each.
template <class Use>
void for_each_split_list(const SplitWords& words, Use use) {
  constexpr std::size_t head = 6;
  for (std::size_t at = 0; at + head <= words.size();) {
    const std::uint32_t* w = words.data() + at;
    const std::size_t length = head + w[4] + w[5];
    use(SplitList{w[0], w[1], w[2], w[3], {w + head, w[4]}, {w + head + w[4], w[5]}}, std::span(w, length));
    at += length;
  }
}

/// The same lists for records with other numbers; new_number(record) < 0: left out.
template <class Number>
SplitWords renumbered(const SplitWords& words, std::uint32_t worker, Number new_number) {
  SplitWords out;
  for_each_split_list(words, [&](const SplitList& list, std::span<const std::uint32_t> all) {
    const std::int64_t number = new_number(list.record);
    if (number < 0) return;
    const std::size_t at = out.size();
    out.insert(out.end(), all.begin(), all.end());
    out[at] = static_cast<std::uint32_t>(number);
    out[at + 1] = worker;
  });
  return out;
}

/// Lists of one worker's records after some traces were left out: first_record and kept_first say by trace, and one past
/// the last, where its records began and begin.
SplitWords settled_splits(const SplitWords& words, std::span<const std::size_t> first_record,
                          std::span<const std::size_t> kept_first, int worker);

/// Lists by (worker, record). The words must outlive it.
class SplitIndex {
 public:
  explicit SplitIndex(const SplitWords& words);
  /// None: the record has no lists.
  const SplitList* find(const CollectiveRecord& record) const;
  bool empty() const { return lists_.empty(); }

 private:
  std::vector<SplitList> lists_;
};

/// match(), route() and assemble() of match.hpp where records have lists.
Matched match(const std::vector<CollectiveRecord>& records, const Ranks& ranks, const Groups& groups,
              const Comm& comm, Problems& problems, const SplitWords& splits);
std::vector<SplitWords> route_splits(const SplitWords& splits, const std::vector<CollectiveRecord>& records,
                                     const Groups& groups, const SequenceSteps& sequences, int num_workers);
MatchedCollectives assemble(std::vector<CollectiveRecord> records, const Ranks& ranks, const Groups& groups,
                            Problems& problems, const SplitWords& splits);

/// The pair that disagrees most about what one sends the other, and how many pairs do.
struct SplitDispute {
  std::int32_t sender = -1, receiver = -1;  // ranks
  std::int64_t sent = 0, expected = 0;
  bool in_bytes = false;                            // else rows of a width that cut lists do not tell
  std::int64_t pairs_count = 0, unknown_count = 0;  // unknown: beyond a cut, or a member without lists
  std::int64_t difference() const { return sent < expected ? expected - sent : sent - expected; }
  std::string text() const;
};

/// records: the members of one all-to-all, members: the ranks of its group in order. What i's list says it receives
/// from j is held against what j's says it sends to i. Nothing if no pair disagrees. Cost: pairs of members with lists.
std::optional<SplitDispute> find_dispute(std::span<const CollectiveRecord* const> records,
                                         const std::vector<std::int32_t>& members, const SplitIndex& index);

}  // namespace ccl
