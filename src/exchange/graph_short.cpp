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
  // On a device what one waits for lies before it: its head is known by then.
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

ShortGraph shorten(const MeasuredGraph& graph, const GraphTimes& ideal) {
  const std::vector<std::uint32_t> head = heads_of(graph);
  std::vector<std::uint32_t> place(graph.size());  // by operation, of its head
  std::uint32_t count = 0;
  std::size_t preds_count = 0;
  for (std::size_t at = 0; at < graph.order.size(); ++at) {
    if (at + fetch_ahead < graph.order.size()) fetch_of(graph.order[at + fetch_ahead], head, graph.first_pred, place);
    const std::uint32_t i = graph.order[at];
    if (head[i] != i) continue;
    place[i] = count++;
    preds_count += graph.preds_of(i).size();
  }
  ShortGraph out;
  out.ops.resize(count);
  out.times = ShortTimesList(count);
  const GraphTimes& measured = graph.measured;
  // As the operations lie: along the order each would be far from the one before, in every list that is read.
  for (std::uint32_t i = 0; i < graph.size(); ++i) {
    if (i + fetch_ahead < graph.size()) {
      const std::uint32_t next = place[head[i + fetch_ahead]];
      fetch_of(next, out.ops);
      out.times.fetch(next);
    }
    const std::uint32_t own = place[i] = place[head[i]];
    if (head[i] == i) {
      const GraphCommunication& of = graph.communication_of(i);
      out.ops[own] = {.rank_row = graph.ops[i].rank_row, .match = graph.match[i], .op = of.op, .dimension = of.dimension,
                      .with_others = is_with_others(graph, i), .transfer_known = graph.unseen.of(i) != 0};
    }
    const std::int64_t transfer_ns = graph.unseen.of(i);
    out.times.add(own, {measured.gap_ns[i], ideal.gap_ns[i], measured.run_ns[i], ideal.run_ns[i]},
                  transfer_ns >= 0 ? measured.run_ns[i] - transfer_ns : 0);
  }
  out.first_pred.reserve(std::size_t{count} + 1);
  out.first_pred.push_back(0);
  out.preds.reserve(preds_count);
  for (std::size_t at = 0; at < graph.order.size(); ++at) {
    if (at + fetch_ahead < graph.order.size()) fetch_of(graph.order[at + fetch_ahead], head, graph.first_pred);
    const std::uint32_t i = graph.order[at];
    if (head[i] != i) continue;
    for (const std::uint32_t pred : graph.preds_of(i)) out.preds.push_back(place[pred]);
    out.first_pred.push_back(static_cast<std::uint32_t>(out.preds.size()));
  }
  out.first_member = graph.first_member;
  out.members.reserve(graph.members.size());
  for (const std::uint32_t member : graph.members) out.members.push_back(place[member]);
  return out;
}

CaseReplays::CaseReplays(const ShortGraph& graph, std::span<const Processors> lent)
    : graph_(graph),
      lent_(lent),
      place_(graph.ops.size()),
      pred_place_(graph.preds.size()),
      places_count_(deal_places()) {
  match_.reserve(graph.ops.size());
  for (const ShortOp& op : graph.ops) match_.push_back(op.match);
}

CaseReplays::Pass& CaseReplays::room_for(ShortChange change) {
  const bool goes_on = waiting_ > 0 && passes_[waiting_ - 1].change == change && passes_[waiting_ - 1].cases_count < cases_at_once;
  if (goes_on) return passes_[waiting_ - 1];
  if (waiting_ == lent_.size() + 1) run();
  if (waiting_ == passes_.size())
    passes_.push_back({std::vector<CaseBits>(graph_.ops.size()), std::vector<Lanes>(places_count_),
                       std::vector<Lanes>(graph_.first_member.size() - 1),
                       std::vector<std::uint32_t>(graph_.first_member.size() - 1), change, 0, {}});
  passes_[waiting_].change = change;
  return passes_[waiting_++];
}

std::size_t CaseReplays::deal_places() {
  std::vector<std::uint32_t> waiting(graph_.ops.size(), 0), missing(graph_.first_member.size() - 1), free;
  for (const std::uint32_t pred : graph_.preds) ++waiting[pred];
  for (std::size_t m = 0; m < missing.size(); ++m) missing[m] = static_cast<std::uint32_t>(graph_.members_of(m).size());
  std::uint32_t places_count = 0;
  const auto give_back_unless_waited_for = [&](std::uint32_t op) {
    if (waiting[op] == 0) free.push_back(place_[op]);
  };
  for (std::uint32_t i = 0; i < graph_.ops.size(); ++i) {
    // Its own before those of what it waits for are free: while its begin is worked out they are read.
    if (free.empty()) free.push_back(places_count++);
    place_[i] = free.back();
    free.pop_back();
    for (std::uint32_t p = graph_.first_pred[i]; p < graph_.first_pred[i + 1]; ++p) {
      pred_place_[p] = place_[graph_.preds[p]];
      --waiting[graph_.preds[p]];
      give_back_unless_waited_for(graph_.preds[p]);
    }
    const std::int32_t match = graph_.ops[i].match;
    if (match < 0) give_back_unless_waited_for(i);
    else if (--missing[static_cast<std::size_t>(match)] == 0)
      for (const std::uint32_t member : graph_.members_of(static_cast<std::size_t>(match))) give_back_unless_waited_for(member);
  }
  return places_count;
}

CCL_INLINE inline void CaseReplays::replay(Pass& pass) const {
  constexpr Lanes none{};
  std::ranges::fill(pass.started, 0);
  Lanes length_ns = none;
  const auto mix = [](std::uint8_t bits, std::int64_t measured, std::int64_t changed, std::int64_t ideal) CCL_INLINE {
    Lanes out;
    for (std::size_t c = 0; c < cases_at_once; ++c) {
      const std::int64_t mask = -static_cast<std::int64_t>(bits >> c & 1);
      out[c] = (changed & mask) | (measured & ~mask);
      out[cases_at_once + c] = (measured & mask) | (ideal & ~mask);
    }
    return out;
  };
  const auto later = [](Lanes& ns, const Lanes& other) CCL_INLINE {
    for (std::size_t lane = 0; lane < ns.size(); ++lane) ns[lane] = std::max(ns[lane], other[lane]);
  };
  const auto plus = [](Lanes& ns, const Lanes& more) CCL_INLINE {
    for (std::size_t lane = 0; lane < ns.size(); ++lane) ns[lane] += more[lane];
  };
  const auto run_of = [&](std::size_t i) CCL_INLINE {
    const ShortTimes times = graph_.times[i];
    return mix(pass.bits[i].run(), times.measured_run_ns,
               pass.change == ShortChange::ideal ? times.ideal_run_ns : graph_.times.hidden_run_ns(i), times.ideal_run_ns);
  };
  for (std::size_t i = 0; i < graph_.ops.size(); ++i) {
    if (const std::size_t next = i + fetch_ahead; next < graph_.ops.size()) {
      fetch_of(place_[next], pass.end_ns);
      if (graph_.first_pred[next] < pred_place_.size()) fetch_of(pred_place_[graph_.first_pred[next]], pass.end_ns);
      if (match_[next] >= 0) fetch_of(static_cast<std::size_t>(match_[next]), pass.last_ns, pass.started);
    }
    const ShortTimes times = graph_.times[i];
    const std::span preds = std::span(pred_place_).subspan(graph_.first_pred[i], graph_.first_pred[i + 1] - graph_.first_pred[i]);
    Lanes& at_ns = pass.end_ns[place_[i]];
    at_ns = preds.empty() ? none : pass.end_ns[preds[0]];
    for (std::size_t p = 1; p < preds.size(); ++p) later(at_ns, pass.end_ns[preds[p]]);
    plus(at_ns, mix(pass.bits[i].gap(), times.measured_gap_ns, times.ideal_gap_ns, times.ideal_gap_ns));
    if (match_[i] < 0) {
      plus(at_ns, run_of(i));
      later(length_ns, at_ns);
      continue;
    }
    const auto match = static_cast<std::size_t>(match_[i]);
    Lanes& last_ns = pass.last_ns[match];
    if (pass.started[match] == 0) last_ns = at_ns;
    else later(last_ns, at_ns);
    const auto members = graph_.members_of(match);
    if (++pass.started[match] < members.size()) continue;
    for (const std::uint32_t member : members) {
      Lanes end_ns = last_ns;
      plus(end_ns, run_of(member));
      later(pass.end_ns[place_[member]], end_ns);
      later(length_ns, pass.end_ns[place_[member]]);
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
