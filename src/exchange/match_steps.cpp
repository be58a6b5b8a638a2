// Finding partners: by sequence number, by ordinal within the step, by longest common sequence, by sender and receiver.
#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "core/collective_math.hpp"
#include "exchange/align.hpp"
#include "exchange/match_parts.hpp"

namespace ccl {
namespace {

// Alignment takes the product of two lengths: bounded per member, and per step where there are many.
constexpr std::size_t most_cells_per_member = std::size_t{4} << 20;
constexpr std::size_t most_cells_per_step = std::size_t{1} << 30;

bool is_matchable(CollectiveOp op) {
  return op != CollectiveOp::unknown && op != CollectiveOp::dispatch && op != CollectiveOp::combine &&
         !is_point_to_point(op);
}

/// "rank 3 all_gather of 2048 bytes".
std::string what_text(const CollectiveRecord& r) {
  const std::int64_t bytes = payload_of(r, r.group_size);
  return "rank " + std::to_string(r.rank.value) + " " + std::string(to_text(r.op)) +
         (bytes < 0 ? "" : " of " + std::to_string(bytes) + " bytes");
}

std::vector<AlignItem> items_of(const RecordRefs& records, std::uint64_t (*signature)(const CollectiveRecord&)) {
  std::vector<AlignItem> items;
  items.reserve(records.size());
  for (const CollectiveRecord* r : records) items.push_back({signature(*r), r->end_ns(), is_symmetric(r->op)});
  return items;
}

bool same_signatures(const std::vector<AlignItem>& a, const std::vector<AlignItem>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const AlignItem& x, const AlignItem& y) { return x.signature == y.signature; });
}

RecordRefs of_op(const RecordRefs& records, CollectiveOp op) {
  RecordRefs chosen;
  chosen.reserve(records.size());
  for (const CollectiveRecord* r : records)
    if (r->op == op) chosen.push_back(r);
  return chosen;
}

/// The i-th of one member is the i-th of all, if counts and signatures agree. False: they do not.
bool match_by_ordinal(const std::vector<RecordRefs>& lists, CollectiveOp op, Drafts& drafts) {
  for (const RecordRefs& list : lists) {
    if (list.size() != lists[0].size()) return false;
    for (std::size_t i = 0; i < list.size(); ++i)
      if (signature_of(*list[i]) != signature_of(*lists[0][i])) return false;
  }
  RecordRefs members(lists.size());
  for (std::size_t i = 0; i < lists[0].size(); ++i) {
    for (std::size_t m = 0; m < lists.size(); ++m) members[m] = lists[m][i];
    drafts.add(members, MatchRule::ordinal, op, members[0]->step, static_cast<std::int32_t>(i));
  }
  return true;
}

/// Lines every member up with the one that has most; ops that ordinals settled only help to find the place.
void match_by_alignment(const std::vector<StepMember>& members, const std::array<bool, collective_op_count>& wanted,
                        Drafts& drafts, MatchCounts& counts) {
  const auto is_wanted = [&](const CollectiveRecord* r) { return wanted[static_cast<std::size_t>(r->op)]; };
  std::vector<RecordRefs> sequences;
  std::size_t reference = 0, most = 0;
  for (const StepMember& member : members) {
    RecordRefs& sequence = sequences.emplace_back();
    for (const CollectiveRecord* r : member.records)
      if (is_matchable(r->op)) sequence.push_back(r);
    const auto count = static_cast<std::size_t>(std::count_if(sequence.begin(), sequence.end(), is_wanted));
    if (count > most) {
      most = count;
      reference = sequences.size() - 1;
    }
  }
  const RecordRefs& base = sequences[reference];
  const auto lengths_text = [&](std::size_t m) {
    return "rank " + std::to_string(members[m].rank) + " has " + std::to_string(sequences[m].size()) + " collectives, rank " +
           std::to_string(members[reference].rank) + " " + std::to_string(base.size());
  };
  const std::vector<AlignItem> base_items = items_of(base, signature_of);
  std::vector<RecordRefs> partners(base.size());
  const std::size_t most_cells = std::min(most_cells_per_member, most_cells_per_step / sequences.size());
  for (std::size_t m = 0; m < sequences.size(); ++m) {
    std::vector<bool> used(sequences[m].size(), false);
    const auto take = [&](std::size_t at_base, std::size_t at_member) {
      partners[at_base].push_back(sequences[m][at_member]);
      used[at_member] = true;
    };
    const std::vector<AlignItem> items = items_of(sequences[m], signature_of);
    if (same_signatures(base_items, items))
      for (std::size_t i = 0; i < base.size(); ++i) take(i, i);
    else
      for (const auto& [i, j] : align(base_items, items, most_cells)) take(i, j);
    for (std::size_t j = 0; j < used.size(); ++j)
      if (!used[j] && is_wanted(sequences[m][j])) counts.unmatched(*sequences[m][j], Unmatched::unequal, [&] { return lengths_text(m); });
  }
  std::array<std::int32_t, collective_op_count> ordinals{};
  for (std::size_t i = 0; i < base.size(); ++i) {
    if (!is_wanted(base[i])) continue;
    const std::int32_t ordinal = ordinals[static_cast<std::size_t>(base[i]->op)]++;
    if (partners[i].size() < 2)
      counts.unmatched(*base[i], Unmatched::unequal, [&] { return what_text(*base[i]); });
    else
      drafts.add(partners[i], MatchRule::aligned, base[i]->op, base[i]->step, ordinal);
  }
}

/// By row of a: whether it has another partner when the lists are lined up from their ends. Messages of a channel where
/// some are missing often differ in nothing, and then nothing says which of them is missing.
std::vector<bool> uncertain(std::vector<AlignItem> a, std::vector<AlignItem> b,
                            const std::vector<std::pair<std::uint32_t, std::uint32_t>>& from_begin) {
  std::reverse(a.begin(), a.end());
  std::reverse(b.begin(), b.end());
  constexpr auto none = static_cast<std::size_t>(-1);
  std::vector<std::size_t> partner(a.size(), none);
  for (const auto& [i, j] : align(a, b)) partner[a.size() - 1 - i] = b.size() - 1 - j;
  std::vector<bool> out(a.size(), false);
  for (const auto& [i, j] : from_begin) out[i] = partner[i] != j;
  return out;
}

/// Those of equal signature that do not end in the order in which they start, and all between. Messages of one
/// communicator from one rank to another do; where they do not, there are several, and nothing says which message of the other
/// rank is whose.
/// Empty: there are none.
std::vector<bool> overtaken(const RecordRefs& records) {
  const auto ends_earlier = [](const CollectiveRecord* a, const CollectiveRecord* b) { return a->end_ns() < b->end_ns(); };
  if (std::is_sorted(records.begin(), records.end(), ends_earlier)) return {};
  std::vector<bool> marked(records.size(), false);
  std::map<std::uint64_t, std::int64_t> earliest_end, latest_end;  // by signature, of those behind and in front
  std::vector<std::int64_t> end_behind(records.size());
  for (std::size_t i = records.size(); i-- > 0;) {
    std::int64_t& earliest = earliest_end.try_emplace(pair_signature(*records[i]), INT64_MAX).first->second;
    end_behind[i] = earliest;
    earliest = std::min(earliest, records[i]->end_ns());
  }
  for (std::size_t i = 0; i < records.size(); ++i) {
    std::int64_t& latest = latest_end.try_emplace(pair_signature(*records[i]), INT64_MIN).first->second;
    const std::int64_t end_ns = records[i]->end_ns();
    const bool is_behind = latest > std::min(end_ns, end_behind[i]);  // one before ends after one from here on
    latest = std::max(latest, end_ns);
    if (is_behind || latest > end_behind[i]) marked[i] = true;
  }
  return marked;
}

void match_two_lists(const RecordRefs& a, const RecordRefs& b, Drafts& drafts, MatchCounts& counts) {
  const std::vector<AlignItem> items_a = items_of(a, pair_signature), items_b = items_of(b, pair_signature);
  const bool agree = same_signatures(items_a, items_b);
  std::vector<bool> used_a(a.size(), false), used_b(b.size(), false);
  const std::vector<bool> overtaken_a = overtaken(a), overtaken_b = overtaken(b);
  const auto add = [&](std::size_t i, std::size_t j) {
    drafts.add({a[i], b[j]}, agree ? MatchRule::pair : MatchRule::aligned, CollectiveOp::send_recv, a[i]->step,
               static_cast<std::int32_t>(i));
    drafts.instances.back().suspect = (!overtaken_a.empty() && overtaken_a[i]) || (!overtaken_b.empty() && overtaken_b[j]);
    used_a[i] = used_b[j] = true;
  };
  if (agree)
    for (std::size_t i = 0; i < a.size(); ++i) add(i, i);
  else {
    const auto pairs = align(items_a, items_b);
    const std::vector<bool> doubtful = uncertain(items_a, items_b, pairs);
    for (const auto& [i, j] : pairs) {
      add(i, j);
      drafts.instances.back().suspect |= doubtful[i];
    }
  }
  const auto cause = a.empty() || b.empty() ? Unmatched::alone : Unmatched::unequal;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!used_a[i]) counts.unmatched(*a[i], cause, [&] { return what_text(*a[i]); });
  for (std::size_t j = 0; j < b.size(); ++j)
    if (!used_b[j]) counts.unmatched(*b[j], cause, [&] { return what_text(*b[j]); });
}

}  // namespace

void match_collectives(const std::vector<StepMember>& members, Drafts& drafts, MatchCounts& counts) {
  std::array<bool, collective_op_count> occurs{}, unsettled{};
  for (const StepMember& member : members)
    for (const CollectiveRecord* r : member.records) {
      if (is_matchable(r->op))
        occurs[static_cast<std::size_t>(r->op)] = true;
      else if (!is_point_to_point(r->op))
        counts.unmatched(*r, Unmatched::operation_unknown);
    }
  bool any_unsettled = false;
  for (std::size_t o = 0; o < occurs.size(); ++o) {
    if (!occurs[o]) continue;
    const auto op = static_cast<CollectiveOp>(o);
    std::vector<RecordRefs> lists;
    for (const StepMember& member : members)
      if (RecordRefs list = of_op(member.records, op); !list.empty()) lists.push_back(std::move(list));
    if (lists.size() == 1)
      for (const CollectiveRecord* r : lists[0]) counts.unmatched(*r, Unmatched::alone, [&] { return what_text(*r); });
    else if (!match_by_ordinal(lists, op, drafts))
      any_unsettled = unsettled[o] = true;
  }
  if (any_unsettled) match_by_alignment(members, unsettled, drafts, counts);
}

void match_pairs(const std::vector<StepMember>& members, const Group& group, Drafts& drafts, MatchCounts& counts) {
  struct Lists {
    RecordRefs sends, recvs;
  };
  std::optional<std::map<const CollectiveRecord*, std::int32_t>> found;  // asked for once
  const auto peer_of = [&](const CollectiveRecord& record) {
    const std::int32_t told = told_peer(record, members, group);
    if (told >= 0 || record.op == CollectiveOp::send_recv) return told;
    if (!found) found = find_peers(members, group);
    const auto at = found->find(&record);
    return at == found->end() ? -1 : at->second;
  };
  std::map<std::pair<std::int32_t, std::int32_t>, Lists> channels;  // (sender, receiver)
  std::map<std::int32_t, RecordRefs> undirected;                   // by rank, in a group of two
  for (const StepMember& member : members)
    for (const CollectiveRecord* r : member.records) {
      if (!is_point_to_point(r->op)) continue;
      const std::int32_t peer = peer_of(*r);
      if (peer < 0)
        counts.unmatched(*r, Unmatched::peer_unknown, [&] { return what_text(*r); });
      else if (r->op == CollectiveOp::send)
        channels[{member.rank, peer}].sends.push_back(r);
      else if (r->op == CollectiveOp::recv)
        channels[{peer, member.rank}].recvs.push_back(r);
      else
        undirected[member.rank].push_back(r);
    }
  for (const auto& [channel, lists] : channels) match_two_lists(lists.sends, lists.recvs, drafts, counts);
  if (undirected.size() == 2)
    match_two_lists(undirected.begin()->second, undirected.rbegin()->second, drafts, counts);
  else
    for (const auto& [rank, records] : undirected)
      for (const CollectiveRecord* r : records) counts.unmatched(*r, Unmatched::alone);
}

void match_by_sequence(const std::vector<StepMember>& members, Drafts& drafts, MatchCounts& counts) {
  std::map<std::pair<std::int64_t, std::int32_t>, RecordRefs> instances;  // (Seq, ordinal among equal Seq)
  for (const StepMember& member : members) {
    const auto not_behind = [](const CollectiveRecord* a, const CollectiveRecord* b) { return a->sequence >= b->sequence; };
    const bool each_once = std::adjacent_find(member.records.begin(), member.records.end(), not_behind) == member.records.end();
    std::map<std::int64_t, std::int32_t> seen;
    auto at = instances.begin();
    for (const CollectiveRecord* r : member.records) {
      if (is_point_to_point(r->op)) continue;  // numbered per pair of ranks, not per group
      // Numbers ascend, mostly: each place is found beside the one before.
      const std::int32_t ordinal = each_once ? 0 : seen.try_emplace(seen.end(), r->sequence, 0)->second++;
      at = instances.try_emplace(at, {r->sequence, ordinal});
      (at++)->second.push_back(r);
    }
  }
  for (const auto& [key, records] : instances) {
    const CollectiveRecord& first = *records[0];
    const bool alike = std::all_of(records.begin(), records.end(),
                                   [&](const CollectiveRecord* r) { return signature_of(*r) == signature_of(first); });
    if (records.size() < 2 || !alike || !is_matchable(first.op)) {
      const auto cause = records.size() < 2 ? Unmatched::alone
                         : !alike           ? Unmatched::other_operation
                                            : Unmatched::operation_unknown;
      const auto other = std::find_if(records.begin(), records.end(), [&](const CollectiveRecord* r) {
        return signature_of(*r) != signature_of(first);
      });
      const CollectiveRecord* const unlike = other == records.end() ? nullptr : *other;
      const auto text = [&first, unlike] {
        return "sequence " + std::to_string(first.sequence) + ", " + what_text(first) +
               (unlike == nullptr ? "" : ", " + what_text(*unlike));
      };
      for (const CollectiveRecord* r : records) counts.unmatched(*r, cause, text);
      continue;
    }
    std::int64_t step = outside_step;
    for (const CollectiveRecord* r : records)
      if (step == outside_step) step = r->step;
    drafts.add(records, MatchRule::sequence, first.op, step, key.second, key.first);
  }
}

}  // namespace ccl
