#include "exchange/graph_short.hpp"

#include <algorithm>
#include <functional>
#include <utility>

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

/// What stands for its followers too.
struct Joined {
  ShortOp op;
  ShortTimes times;
};

/// By head, in the order in which they lie. number: by operation, of its head.
std::vector<Joined> joined_ops(const MeasuredGraph& graph, const GraphTimes& ideal, const std::vector<std::uint32_t>& head,
                               std::vector<std::uint32_t>& number) {
  const GraphTimes& measured = graph.measured;
  std::vector<Joined> joined;
  number.resize(graph.size());
  std::uint32_t count = 0;
  for (std::uint32_t i = 0; i < graph.size(); ++i)
    if (head[i] == i) number[i] = count++;
  joined.resize(count);
  for (std::uint32_t i = 0; i < graph.size(); ++i) {
    number[i] = number[head[i]];
    auto& [op, times] = joined[number[i]];
    if (head[i] == i) {
      const GraphCommunication& of = graph.communication_of(i);
      op = {.rank_row = graph.ops[i].rank_row, .match = graph.match[i], .op = of.op, .dimension = of.dimension,
            .with_others = is_with_others(graph, i), .transfer_known = graph.unseen.of(i) != 0};
    }
    times.measured_gap_ns += measured.gap_ns[i];
    times.ideal_gap_ns += ideal.gap_ns[i];
    times.measured_run_ns += measured.run_ns[i];
    times.ideal_run_ns += ideal.run_ns[i];
    if (const std::int64_t transfer_ns = graph.unseen.of(i); transfer_ns >= 0) times.hidden_run_ns += measured.run_ns[i] - transfer_ns;
  }
  return joined;
}

}  // namespace

// Worked out as the operations lie, then put in order: along the order each operation would be a line of memory far from the one
// before, in every list that is read.
ShortGraph shorten(const MeasuredGraph& graph, const GraphTimes& ideal) {
  const std::vector<std::uint32_t> head = heads_of(graph);
  std::vector<std::uint32_t> number;
  const std::vector<Joined> joined = joined_ops(graph, ideal, head, number);
  ShortGraph out;
  out.ops.reserve(joined.size());
  out.times.reserve(joined.size());
  out.first_pred.reserve(joined.size() + 1);
  out.first_pred.push_back(0);
  out.preds.reserve(graph.preds.size());
  std::vector<std::uint32_t> place(joined.size(), 0);
  for (std::size_t at = 0; at < graph.order.size(); ++at) {
    if (at + 2 * fetch_ahead < graph.order.size()) fetch_of(graph.order[at + 2 * fetch_ahead], head, number, graph.first_pred);
    if (at + fetch_ahead < graph.order.size()) fetch_of(number[graph.order[at + fetch_ahead]], joined);
    const std::uint32_t i = graph.order[at];
    if (head[i] != i) continue;
    place[number[i]] = static_cast<std::uint32_t>(out.ops.size());
    out.ops.push_back(joined[number[i]].op);
    out.times.push_back(joined[number[i]].times);
    for (const std::uint32_t pred : graph.preds_of(i)) out.preds.push_back(place[number[pred]]);
    out.first_pred.push_back(static_cast<std::uint32_t>(out.preds.size()));
  }
  out.first_member = graph.first_member;
  out.members.reserve(graph.members.size());
  for (const std::uint32_t member : graph.members) out.members.push_back(place[number[member]]);
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

CCL_INLINE inline CaseReplays::Lanes CaseReplays::replay(Pass& pass) const {
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
    const ShortTimes& times = graph_.times[i];
    return mix(pass.bits[i].run, times.measured_run_ns, pass.change == ShortChange::ideal ? times.ideal_run_ns : times.hidden_run_ns,
               times.ideal_run_ns);
  };
  for (std::size_t i = 0; i < graph_.ops.size(); ++i) {
    if (const std::size_t next = i + fetch_ahead; next < graph_.ops.size()) {
      fetch_of(place_[next], pass.end_ns);
      if (graph_.first_pred[next] < pred_place_.size()) fetch_of(pred_place_[graph_.first_pred[next]], pass.end_ns);
      if (match_[next] >= 0) fetch_of(static_cast<std::size_t>(match_[next]), pass.last_ns, pass.started);
    }
    const ShortTimes& times = graph_.times[i];
    const std::span preds = std::span(pred_place_).subspan(graph_.first_pred[i], graph_.first_pred[i + 1] - graph_.first_pred[i]);
    Lanes& at_ns = pass.end_ns[place_[i]];
    at_ns = preds.empty() ? none : pass.end_ns[preds[0]];
    for (std::size_t p = 1; p < preds.size(); ++p) later(at_ns, pass.end_ns[preds[p]]);
    plus(at_ns, mix(pass.bits[i].gap, times.measured_gap_ns, times.ideal_gap_ns, times.ideal_gap_ns));
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
  return length_ns;
}

#if defined(CCL_CASES_X86)
__attribute__((target("avx512f,avx512vl"))) CaseReplays::Lanes CaseReplays::replay_avx512(Pass& pass) const { return replay(pass); }
#endif

void CaseReplays::run() {
  std::vector<std::function<void()>> tasks;
  for (Pass& pass : std::span(passes_).first(waiting_))
    tasks.emplace_back([this, &pass] {
#if defined(CCL_CASES_X86)
      pass.length_ns = __builtin_cpu_supports("avx512vl") ? replay_avx512(pass) : replay(pass);
#else
      pass.length_ns = replay(pass);
#endif
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
