#include "exchange/graph_short.hpp"

#include <algorithm>
#include <functional>

#include "core/fetch.hpp"

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define CCL_CASES_X86
#endif
#if defined(__GNUC__) || defined(__clang__)
#define CCL_INLINE __attribute__((always_inline))
#else
#define CCL_INLINE
#endif

namespace ccl {
namespace {

/// By operation: the first of those that it is joined to, or itself.
std::vector<std::uint32_t> heads_of(const StepGraph& graph) {
  std::vector<std::uint32_t> head(graph.size());
  {
    std::vector<std::uint8_t> alone(graph.size()), followers(graph.size(), 0);  // followers: 2 = several
    for (const std::uint32_t pred : graph.preds)
      if (followers[pred] < 2) ++followers[pred];
    for (std::uint32_t i = 0; i < graph.size(); ++i) alone[i] = graph.match[i] >= 0 || is_with_others(graph, i) ? 1 : 0;
    for (std::uint32_t i = 0; i < graph.size(); ++i) {
      const auto preds = graph.preds_of(i);
      const bool joined = preds.size() == 1 && followers[preds[0]] == 1 && alone[i] == 0 && alone[preds[0]] == 0;
      head[i] = joined ? preds[0] : i;
    }
  }
  // A chain of joined ones, each of which names the one before.
  for (std::uint32_t i = 0; i < graph.size(); ++i)
    while (head[head[i]] != head[i]) head[i] = head[head[i]];
  return head;
}

}  // namespace

void ShortTimesList::add(std::size_t i, const ShortTimes& more, std::int64_t more_hidden_run_ns) {
  ShortTimes all = (*this)[i];
  const std::int64_t hidden_ns = hidden_run_ns(i) + more_hidden_run_ns;
  all.measured_gap_ns += more.measured_gap_ns;
  all.ideal_gap_ns += more.ideal_gap_ns;
  all.measured_run_ns += more.measured_run_ns;
  all.ideal_run_ns += more.ideal_run_ns;
  const auto fits = [](std::int64_t ns) { return ns > is_far && ns <= std::numeric_limits<std::int32_t>::max(); };
  const auto near = [](std::int64_t ns) { return static_cast<std::int32_t>(ns); };
  if (fits(all.measured_gap_ns) && fits(all.ideal_gap_ns) && fits(all.measured_run_ns) && fits(all.ideal_run_ns) &&
      fits(hidden_ns)) {
    near_[i] = {near(all.measured_gap_ns), near(all.ideal_gap_ns), near(all.measured_run_ns), near(all.ideal_run_ns)};
    near_hidden_run_ns_[i] = near(hidden_ns);
  } else {
    near_[i].measured_gap_ns = is_far;
    far_[i] = {all, hidden_ns};
  }
}

namespace {

/// Of operations by rank: its kinds lie behind those of the ranks before.
std::uint32_t number_of(const ShortKind& kind, std::vector<ShortKind>& kinds) {
  std::size_t at = kinds.size();
  while (at > 0 && kinds[at - 1].rank_row == kind.rank_row)
    if (kinds[--at] == kind) return static_cast<std::uint32_t>(at);
  kinds.push_back(kind);
  return static_cast<std::uint32_t>(kinds.size() - 1);
}

}  // namespace

ShortGraph shorten(const MeasuredGraph& graph, const GraphTimes& ideal) {
  const std::vector<std::uint32_t> head = heads_of(graph);
  std::vector<std::uint32_t> place(graph.size());  // by operation that is a head
  ShortGraph out;
  out.first_pred.push_back(0);
  for (std::size_t at = 0; at < graph.order.size(); ++at) {
    if (at + fetch_ahead < graph.order.size()) fetch_of(graph.order[at + fetch_ahead], head, graph.first_pred, place);
    const std::uint32_t i = graph.order[at];
    if (head[i] != i) continue;
    place[i] = static_cast<std::uint32_t>(out.first_pred.size() - 1);
    out.first_pred.push_back(out.first_pred.back() + static_cast<std::uint32_t>(graph.preds_of(i).size()));
  }
  const std::size_t count = out.first_pred.size() - 1;
  out.ops.resize(count);
  out.preds.resize(out.first_pred.back());
  out.times = ShortTimesList(count);
  const GraphTimes& measured = graph.measured;
  // As the operations lie: along the order each would be far from the one before, in every list that is read.
  for (std::uint32_t i = 0; i < graph.size(); ++i) {
    if (i + fetch_ahead < graph.size()) {
      const std::uint32_t next = place[head[i + fetch_ahead]];
      fetch_of(next, out.ops, out.first_pred);
      out.times.fetch(next);
    }
    if (i + fetch_ahead / 2 < graph.size()) fetch_of(out.first_pred[place[head[i + fetch_ahead / 2]]], out.preds);
    const std::uint32_t own = place[head[i]];
    if (head[i] == i) {
      const GraphCommunication& of = graph.communication_of(i);
      const ShortKind kind{.rank_row = graph.ops[i].rank_row, .op = of.op, .dimension = of.dimension,
                           .with_others = is_with_others(graph, i), .transfer_known = graph.unseen.of(i) != 0};
      out.ops[own] = {number_of(kind, out.kinds), graph.match[i]};
      std::uint32_t to = out.first_pred[own];
      for (const std::uint32_t pred : graph.preds_of(i)) out.preds[to++] = place[head[pred]];
    }
    const std::int64_t transfer_ns = graph.unseen.of(i);
    out.times.add(own, {measured.gap_ns[i], ideal.gap_ns[i], measured.run_ns[i], ideal.run_ns[i]},
                  transfer_ns >= 0 ? measured.run_ns[i] - transfer_ns : 0);
  }
  out.first_member = graph.first_member;
  out.members.reserve(graph.members.size());
  for (std::size_t at = 0; at < graph.members.size(); ++at) {
    if (at + fetch_ahead < graph.members.size()) fetch_of(graph.members[at + fetch_ahead], place);
    out.members.push_back(place[graph.members[at]]);  // whoever waits for others is a head
  }
  return out;
}

CaseReplays::CaseReplays(const ShortGraph& graph, std::span<const Processors> lent) : graph_(graph), lent_(lent) {
  take_turns();
}

CaseReplays::Pass& CaseReplays::room_for(ShortChange change) {
  const bool goes_on = waiting_ > 0 && passes_[waiting_ - 1].change == change && passes_[waiting_ - 1].cases_count < cases_at_once;
  if (goes_on) return passes_[waiting_ - 1];
  if (waiting_ == lent_.size() + 1) run();
  if (waiting_ == passes_.size())
    passes_.push_back({std::vector<CaseBits>(graph_.kinds.size()), std::vector<Kept>(places_count_), change, 0, {}});
  passes_[waiting_].change = change;
  return passes_[waiting_++];
}

void CaseReplays::take_turns() {
  std::vector<std::uint32_t> waiting(graph_.ops.size(), 0), missing(graph_.first_member.size() - 1), free;
  for (const std::uint32_t pred : graph_.preds) ++waiting[pred];
  for (std::size_t m = 0; m < missing.size(); ++m) missing[m] = static_cast<std::uint32_t>(graph_.members_of(m).size());
  turns_.resize(graph_.ops.size());
  pred_place_.resize(graph_.preds.size());
  member_place_.reserve(graph_.members.size());
  members_count_.reserve(missing.size());
  const auto give_back_unless_waited_for = [&](std::uint32_t op) {
    if (waiting[op] == 0) free.push_back(turns_[op].place);
  };
  for (std::uint32_t i = 0; i < graph_.ops.size(); ++i) {
    // Its own before those of what it waits for are free: while its begin is worked out they are read.
    if (free.empty()) free.push_back(places_count_++);
    Turn& turn = turns_[i];
    turn.kind = graph_.ops[i].kind;
    turn.place = free.back();
    free.pop_back();
    turn.preds_count = (graph_.first_pred[i + 1] - graph_.first_pred[i]) & ((1U << 30) - 1);
    for (std::uint32_t p = graph_.first_pred[i]; p < graph_.first_pred[i + 1]; ++p) {
      pred_place_[p] = turns_[graph_.preds[p]].place;
      --waiting[graph_.preds[p]];
      give_back_unless_waited_for(graph_.preds[p]);
    }
    const std::int32_t match = graph_.ops[i].match;
    if (match < 0) {
      give_back_unless_waited_for(i);
      continue;
    }
    turn.joins = static_cast<std::uint32_t>(Joins::match) & 3U;
    if (--missing[static_cast<std::size_t>(match)] > 0) continue;
    turn.joins = static_cast<std::uint32_t>(Joins::match_as_last) & 3U;
    const auto members = graph_.members_of(static_cast<std::size_t>(match));
    members_count_.push_back(static_cast<std::uint32_t>(members.size()));
    for (const std::uint32_t member : members) {
      member_place_.push_back(turns_[member].place);
      give_back_unless_waited_for(member);
    }
  }
}

CCL_INLINE inline void CaseReplays::replay(Pass& pass) const {
  struct alignas(64) Masks : std::array<std::int64_t, 2 * cases_at_once> {};
  static constexpr auto masks = [] {  // by bits of the cases
    std::array<Masks, 1U << cases_at_once> all{};
    for (std::size_t bits = 0; bits < all.size(); ++bits)
      for (std::size_t lane = 0; lane < 2 * cases_at_once; ++lane) all[bits][lane] = (bits >> lane % cases_at_once & 1) != 0 ? -1 : 0;
    return all;
  }();
  constexpr Lanes none{};
  Lanes length_ns = none;
  const auto plus_mixed = [](Lanes& ns, std::uint8_t bits, std::int64_t measured, std::int64_t changed, std::int64_t ideal) CCL_INLINE {
    const Masks& mask = masks[bits];
    for (std::size_t lane = 0; lane < ns.size(); ++lane) {
      const std::int64_t as_is = lane < cases_at_once ? measured : ideal, other = lane < cases_at_once ? changed : measured;
      ns[lane] += as_is ^ ((as_is ^ other) & mask[lane]);
    }
  };
  const auto later = [](Lanes& ns, const Lanes& other) CCL_INLINE {
    for (std::size_t lane = 0; lane < ns.size(); ++lane) ns[lane] = std::max(ns[lane], other[lane]);
  };
  const bool hidden = pass.change == ShortChange::hidden;
  std::size_t pred = 0, member = 0, match = 0;
  for (std::size_t i = 0; i < turns_.size(); ++i) {
    if (i + fetch_ahead < turns_.size()) fetch_of(turns_[i + fetch_ahead].place, pass.kept);
    if (pred + fetch_ahead < pred_place_.size()) fetch_of(pred_place_[pred + fetch_ahead], pass.kept);
    const ShortTimes times = graph_.times[i];
    const Turn turn = turns_[i];
    const CaseBits bits = pass.bits[turn.kind];
    Kept& own = pass.kept[turn.place];
    Lanes at_ns = none;
    for (std::uint32_t p = 0; p < turn.preds_count; ++p, ++pred) {
      if (p == 0) at_ns = pass.kept[pred_place_[pred]].end_ns;
      else later(at_ns, pass.kept[pred_place_[pred]].end_ns);
    }
    plus_mixed(at_ns, bits.gap(), times.measured_gap_ns, times.ideal_gap_ns, times.ideal_gap_ns);
    const std::int64_t changed_ns = hidden ? graph_.times.hidden_run_ns(i) : times.ideal_run_ns;
    const auto joins = static_cast<Joins>(turn.joins);
    if (joins == Joins::nobody) {
      plus_mixed(at_ns, bits.run(), times.measured_run_ns, changed_ns, times.ideal_run_ns);
      later(length_ns, at_ns);
      own.end_ns = at_ns;
      continue;
    }
    Lanes run_ns = none;
    plus_mixed(run_ns, bits.run(), times.measured_run_ns, changed_ns, times.ideal_run_ns);
    own.end_ns = at_ns;
    own.run_ns = run_ns;
    if (joins == Joins::match) continue;
    const std::span places = std::span(member_place_).subspan(member, members_count_[match++]);
    member += places.size();
    for (std::size_t m = 0; m < places.size(); ++m) {
      if (m + fetch_ahead < places.size()) fetch_of(places[m + fetch_ahead], pass.kept);
      later(at_ns, pass.kept[places[m]].end_ns);
    }
    for (const std::uint32_t place : places) {
      Kept& of = pass.kept[place];
      for (std::size_t lane = 0; lane < at_ns.size(); ++lane)
        of.end_ns[lane] = std::max(of.end_ns[lane], at_ns[lane] + of.run_ns[lane]);
      later(length_ns, of.end_ns);
    }
  }
  pass.length_ns = length_ns;
}

#if defined(CCL_CASES_X86)
__attribute__((target("avx512f,avx512vl"))) void CaseReplays::replay_avx512(Pass& pass) const { replay(pass); }
#endif

void CaseReplays::run() {
  std::vector<std::function<void()>> tasks;
  for (Pass& pass : std::span(passes_).first(waiting_))
    tasks.emplace_back([this, &pass] {
#if defined(CCL_CASES_X86)
      if (__builtin_cpu_supports("avx512vl")) return replay_avx512(pass);
#endif
      replay(pass);
    });
  side_by_side(lent_, tasks);
  for (Pass& pass : std::span(passes_).first(waiting_)) {
    for (std::size_t c = 0; c < pass.cases_count; ++c)
      lengths_.push_back({pass.length_ns[c], pass.length_ns[cases_at_once + c]});
    std::ranges::fill(pass.bits, CaseBits{});
    pass.cases_count = 0;
  }
  waiting_ = 0;
}

}  // namespace ccl
