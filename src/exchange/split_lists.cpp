#include "exchange/split_lists.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "core/collective_math.hpp"

namespace ccl {
namespace {

struct Side {
  std::uint32_t bytes_each = 0;
  SplitWords rows;
};

/// One list of a collective; an empty one means equal parts. False: it can not be compared.
bool read_side(std::span<const std::int64_t> splits, std::int64_t bytes, std::int32_t group_size, bool cut,
               Side& side) {
  if (splits.empty()) {
    if (cut || bytes < 0 || bytes % group_size != 0 || bytes / group_size > UINT32_MAX) return false;
    side = {1, SplitWords(static_cast<std::size_t>(group_size), static_cast<std::uint32_t>(bytes / group_size))};
    return true;
  }
  if (!cut && splits.size() != static_cast<std::size_t>(group_size)) return false;
  for (const std::int64_t rows : splits) {
    if (rows < 0 || rows > UINT32_MAX) return false;
    side.rows.push_back(static_cast<std::uint32_t>(rows));
  }
  const std::int64_t sum = std::accumulate(splits.begin(), splits.end(), std::int64_t{0});
  if (!cut && sum > 0 && bytes > 0 && bytes % sum == 0 && bytes / sum <= UINT32_MAX)
    side.bytes_each = static_cast<std::uint32_t>(bytes / sum);
  return true;
}

/// Bytes of a row at its sender and its receiver; where a list does not tell, those of the rank's other list or of the
/// other end, since a row is as wide everywhere.
std::pair<std::uint32_t, std::uint32_t> widths_of(const SplitList& from, const SplitList& to) {
  const std::uint32_t sent = from.sent_bytes_each > 0 ? from.sent_bytes_each : from.received_bytes_each;
  const std::uint32_t expected = to.received_bytes_each > 0 ? to.received_bytes_each : to.sent_bytes_each;
  return {sent > 0 ? sent : expected, expected > 0 ? expected : sent};
}

auto key_of(const SplitList& list) { return std::tuple(list.worker, list.record); }

}  // namespace

void add_splits(const RankTrace& trace, std::size_t first_record, SplitWords& words) {
  const std::span all(trace.splits);
  for (std::size_t i = 0; i < trace.collectives.size(); ++i) {
    const Collective& c = trace.collectives[i];
    if (c.op != CollectiveOp::all_to_allv || c.splits_count + c.out_splits_count == 0) continue;
    const std::int32_t group_size = c.group_size > 0 ? c.group_size : trace.groups[c.group].size;
    Side sent, received;
    if (group_size < 2 ||
        !read_side(all.subspan(c.first_split, c.splits_count), c.in_bytes(), group_size, c.splits_cut, sent) ||
        !read_side(all.subspan(c.first_out_split, c.out_splits_count), c.out_bytes(), group_size, c.splits_cut,
                   received))
      continue;
    for (const std::uint32_t word :
         {static_cast<std::uint32_t>(first_record + i), 0U, sent.bytes_each, received.bytes_each,
          static_cast<std::uint32_t>(sent.rows.size()), static_cast<std::uint32_t>(received.rows.size())})
      words.push_back(word);
    words.insert(words.end(), sent.rows.begin(), sent.rows.end());
    words.insert(words.end(), received.rows.begin(), received.rows.end());
  }
}

SplitWords settled_splits(const SplitWords& words, std::span<const std::size_t> first_record,
                          std::span<const std::size_t> kept_first, int worker) {
  return renumbered(words, static_cast<std::uint32_t>(worker), [&](std::uint32_t record) {
    const auto after = std::upper_bound(first_record.begin(), first_record.end(), std::size_t{record});
    const auto trace = static_cast<std::size_t>(after - first_record.begin()) - 1;
    const bool kept = kept_first[trace] < kept_first[trace + 1];
    return kept ? static_cast<std::int64_t>(record - first_record[trace] + kept_first[trace]) : -1;
  });
}

SplitIndex::SplitIndex(const SplitWords& words) {
  for_each_split_list(words, [&](const SplitList& list, auto) { lists_.push_back(list); });
  std::sort(lists_.begin(), lists_.end(), [](const SplitList& a, const SplitList& b) { return key_of(a) < key_of(b); });
}

const SplitList* SplitIndex::find(const CollectiveRecord& record) const {
  const std::tuple wanted(static_cast<std::uint32_t>(record.worker), record.local);
  const auto at = std::lower_bound(lists_.begin(), lists_.end(), wanted,
                                   [](const SplitList& list, const auto& key) { return key_of(list) < key; });
  return at != lists_.end() && key_of(*at) == wanted ? &*at : nullptr;
}

std::string SplitDispute::text() const {
  const std::string unit = in_bytes ? " bytes" : " rows";
  return "rank " + std::to_string(sender) + " sends rank " + std::to_string(receiver) + " " + std::to_string(sent) +
         unit + ", which expects " + std::to_string(expected) + unit +
         (pairs_count > 1 ? ", the worst of " + std::to_string(pairs_count) + " pairs of this call" : "") +
         (unknown_count > 0 ? " (" + std::to_string(unknown_count) + " pairs are unknown: lists are cut or absent)"
                            : "");
}

std::optional<SplitDispute> find_dispute(std::span<const CollectiveRecord* const> records,
                                         const std::vector<std::int32_t>& members, const SplitIndex& index) {
  std::vector<const SplitList*> by_place(members.size(), nullptr);
  for (const CollectiveRecord* record : records) {
    const auto at = std::find(members.begin(), members.end(), record->rank.value);
    if (at != members.end()) by_place[static_cast<std::size_t>(at - members.begin())] = index.find(*record);
  }
  SplitDispute worst;
  for (std::size_t i = 0; i < by_place.size(); ++i)
    for (std::size_t j = 0; j < by_place.size(); ++j) {
      const SplitList *to = by_place[i], *from = by_place[j];
      if (to == nullptr || from == nullptr || j >= to->received.size() || i >= from->sent.size()) {
        ++worst.unknown_count;
        continue;
      }
      SplitDispute pair{members[j], members[i], from->sent[i], to->received[j], false, 0, 0};
      const auto [sent_width, expected_width] = widths_of(*from, *to);
      pair.in_bytes = sent_width > 0 && expected_width > 0;
      if (pair.in_bytes) pair.sent *= sent_width, pair.expected *= expected_width;
      if (pair.difference() == 0) continue;
      pair.pairs_count = worst.pairs_count + 1;
      pair.unknown_count = worst.unknown_count;
      if (worst.pairs_count > 0 && pair.difference() <= worst.difference())
        worst.pairs_count = pair.pairs_count;
      else
        worst = pair;
    }
  if (worst.pairs_count == 0) return {};
  return worst;
}

}  // namespace ccl
