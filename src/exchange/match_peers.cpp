// Who a send or receive is for. In: one group's records of one step; those of batched messages name no peer. Out: peers
// by name or place, in a group of two the other, and else by elimination among neighbours of a pipeline. Both ends of a
// message are over together, so the ends of a sender's messages and of their receives differ by a constant, the
// difference of the two clocks, which need not be known.
#include <algorithm>
#include <optional>

#include "core/collective_math.hpp"
#include "exchange/match_parts.hpp"
#include "exchange/robust.hpp"

namespace ccl {
namespace {

constexpr double most_uneven_ns = 100'000;  // of the ends of messages on one channel; a step of work lies between others

using Peers = std::map<const CollectiveRecord*, std::int32_t>;

/// The other rank of a group of two; −1 if the group has another size or its members are not known.
std::int32_t other_of_two(const Group& group, const std::vector<StepMember>& members, std::int32_t rank) {
  if (group.size != 2 && !(group.size < 0 && group.members.size() == 2)) return -1;
  if (group.members.size() == 2) return group.members[group.members[0] == rank ? 1 : 0];
  for (const StepMember& member : members)
    if (member.rank != rank) return member.rank;
  return -1;
}

std::int32_t named_peer(const CollectiveRecord& record, const Group& group) {
  if (record.peer >= -1) return record.peer;
  const std::int64_t place = -2 - std::int64_t{record.peer};
  if (!group.members_complete || place >= static_cast<std::int64_t>(group.members.size())) return -1;
  const std::int32_t rank = group.members[static_cast<std::size_t>(place)];
  return rank == record.rank.value ? -1 : rank;
}

/// Messages of one rank in order of time: all sends or all receives.
struct Strand {
  std::size_t place = 0;  // of the rank in the group
  std::size_t order = 0;  // among the rank's strands of that kind, by first start
  RecordRefs records;
};

/// Mean absolute deviation of the end differences from their median, ns; nothing if sizes or types differ.
std::optional<double> unevenness_ns(const RecordRefs& sends, const RecordRefs& recvs) {
  std::vector<std::int64_t> differences;
  for (std::size_t i = 0; i < sends.size(); ++i) {
    if (pair_signature(*sends[i]) != pair_signature(*recvs[i])) return {};
    differences.push_back(recvs[i]->end_ns() - sends[i]->end_ns());
  }
  const std::int64_t middle = middle_value(differences);
  double sum = 0;
  for (const std::int64_t d : differences) sum += static_cast<double>(std::abs(d - middle));
  return sum / static_cast<double>(differences.size());
}

void join(const RecordRefs& sends, const RecordRefs& recvs, Peers& peers) {
  for (std::size_t i = 0; i < sends.size(); ++i) {
    peers[sends[i]] = recvs[i]->rank.value;
    peers[recvs[i]] = sends[i]->rank.value;
  }
}

class Elimination {
 public:
  Elimination(const std::vector<StepMember>& members, const Group& group)
      : size_(group.members.size()), sends_(size_), recvs_(size_) {
    for (const StepMember& member : members) {
      const auto at = std::find(group.members.begin(), group.members.end(), member.rank);
      if (at == group.members.end()) continue;
      const auto place = static_cast<std::size_t>(at - group.members.begin());
      for (const CollectiveRecord* r : member.records)
        if ((r->op == CollectiveOp::send || r->op == CollectiveOp::recv) && told_peer(*r, members, group) < 0)
          (r->op == CollectiveOp::send ? sends_ : recvs_)[place].push_back(r);
    }
  }

  /// Streams that serve one peer each; failing that, a line whose ends have one neighbour.
  Peers solve() const {
    bool all = false;
    Peers by_stream = match_streams(all);
    if (all) return by_stream;
    Peers along = match_line();
    return along.empty() ? by_stream : along;
  }

 private:
  static std::vector<Strand> strands_of(const std::vector<RecordRefs>& lists) {
    std::vector<Strand> strands;
    for (std::size_t place = 0; place < lists.size(); ++place) {
      std::map<std::uint16_t, std::size_t> at;
      for (const CollectiveRecord* r : lists[place]) {
        const auto [strand, is_new] = at.try_emplace(r->lane, strands.size());
        if (is_new) strands.push_back({place, at.size() - 1, {}});
        strands[strand->second].records.push_back(r);
      }
    }
    return strands;
  }

  /// Best fits first. Equal fits (one message each): activations go up and come first, gradients down and last.
  Peers match_streams(bool& all) const {
    const std::vector<Strand> sends = strands_of(sends_), recvs = strands_of(recvs_);
    struct Fit {
      double uneven_ns;
      bool around;  // from the last place to the first
      std::ptrdiff_t order;
      std::size_t send, recv;
      auto key() const { return std::tuple(uneven_ns, around, order, send, recv); }
    };
    std::vector<Fit> fits;
    for (std::size_t s = 0; s < sends.size(); ++s)
      for (std::size_t r = 0; r < recvs.size(); ++r) {
        const std::size_t a = sends[s].place, b = recvs[r].place;
        const bool up = b == (a + 1) % size_, down = a == (b + 1) % size_;
        if ((!up && !down) || sends[s].records.size() != recvs[r].records.size()) continue;
        const std::optional<double> uneven_ns = unevenness_ns(sends[s].records, recvs[r].records);
        const auto order = static_cast<std::ptrdiff_t>(sends[s].order + recvs[r].order);
        if (uneven_ns && *uneven_ns <= most_uneven_ns)
          fits.push_back({*uneven_ns, up ? b < a : a < b, up ? order : -order, s, r});
      }
    std::sort(fits.begin(), fits.end(), [](const Fit& a, const Fit& b) { return a.key() < b.key(); });
    Peers peers;
    std::vector<bool> sent(sends.size()), received(recvs.size());
    std::size_t pairs = 0;
    for (const Fit& fit : fits) {
      if (sent[fit.send] || received[fit.recv]) continue;
      sent[fit.send] = received[fit.recv] = true;
      ++pairs;
      join(sends[fit.send].records, recvs[fit.recv].records, peers);
    }
    all = pairs == sends.size() && pairs == recvs.size();
    return peers;
  }

  /// Takes from `from` the records that fit all of `whole` best; nothing if none fit. Equal fits: the first, or last.
  static std::optional<RecordRefs> take_best(const RecordRefs& whole, bool whole_sends, RecordRefs& from, bool last) {
    if (whole.empty()) return RecordRefs();
    std::optional<RecordRefs> best;
    double best_ns = most_uneven_ns;
    for (std::size_t first = 0; first + whole.size() <= from.size(); ++first) {
      const std::int64_t shift_ns = from[first]->end_ns() - whole[0]->end_ns();
      RecordRefs chosen{from[first]};
      for (std::size_t i = 1, next = first + 1; i < whole.size(); ++i, ++next) {
        const auto off = [&](std::size_t k) { return std::abs(from[k]->end_ns() - whole[i]->end_ns() - shift_ns); };
        while (next + (whole.size() - i) < from.size() && off(next + 1) <= off(next)) ++next;
        chosen.push_back(from[next]);
      }
      const auto uneven_ns = whole_sends ? unevenness_ns(whole, chosen) : unevenness_ns(chosen, whole);
      if (!uneven_ns || *uneven_ns > best_ns || (best && !last && *uneven_ns == best_ns)) continue;
      best = std::move(chosen);
      best_ns = *uneven_ns;
    }
    if (best) std::erase_if(from, [&](const CollectiveRecord* r) { return std::count(best->begin(), best->end(), r) > 0; });
    return best;
  }

  /// The first place talks to the second only; what the second has beyond that is for the third, and so on.
  Peers match_line() const {
    Peers peers;
    std::vector<RecordRefs> sends = sends_, recvs = recvs_;
    for (std::size_t place = 0; place + 1 < size_; ++place) {
      const auto taken = take_best(sends[place], true, recvs[place + 1], false);
      const auto given = take_best(recvs[place], false, sends[place + 1], true);
      if (!taken || !given) return {};
      join(sends[place], *taken, peers);
      join(*given, recvs[place], peers);
    }
    return sends.back().empty() && recvs.back().empty() ? peers : Peers();
  }

  std::size_t size_;
  std::vector<RecordRefs> sends_, recvs_;  // by place: those without a peer
};

}  // namespace

std::uint64_t pair_signature(const CollectiveRecord& r) {
  const std::int64_t bytes = r.op == CollectiveOp::send   ? r.in_bytes
                             : r.op == CollectiveOp::recv ? r.out_bytes
                                                          : -1;
  return hash_combine(static_cast<std::uint64_t>(r.dtype), static_cast<std::uint64_t>(bytes));
}

std::int32_t told_peer(const CollectiveRecord& record, const std::vector<StepMember>& members, const Group& group) {
  const std::int32_t named = named_peer(record, group);
  if (named >= 0 && record.op != CollectiveOp::send_recv) return named;
  const std::int32_t other = other_of_two(group, members, record.rank.value);
  return named >= 0 && other >= 0 ? named : other;
}

Peers find_peers(const std::vector<StepMember>& members, const Group& group) {
  if (!group.members_complete || group.members.size() <= 2) return {};
  return Elimination(members, group).solve();
}

}  // namespace ccl
