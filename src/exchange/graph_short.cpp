#include "exchange/graph_short.hpp"

#include <algorithm>
#include <utility>

#include "exchange/graph_transfer.hpp"

namespace ccl {
namespace {

/// By operation: the one it is joined to, or itself.
std::vector<std::uint32_t> heads_of(const StepGraph& graph) {
  const auto alone = [&](std::uint32_t i) { return graph.match[i] >= 0 || is_with_others(graph.ops[i]); };
  std::vector<std::uint32_t> followers(graph.size(), 0), head(graph.size());
  for (const std::uint32_t pred : graph.preds) ++followers[pred];
  for (const std::uint32_t i : graph.order) {
    const auto preds = graph.preds_of(i);
    const bool joined = preds.size() == 1 && followers[preds[0]] == 1 && !alone(i) && !alone(preds[0]);
    head[i] = joined ? head[preds[0]] : i;
  }
  return head;
}

}  // namespace

ShortGraph shorten(const StepGraph& graph, const GraphTimes& measured, const GraphTimes& ideal,
                   std::span<const std::int64_t> unseen_ns) {
  const std::vector<std::uint32_t> head = heads_of(graph);
  ShortGraph out;
  std::size_t count = 0;
  for (std::uint32_t i = 0; i < graph.size(); ++i) count += head[i] == i ? 1 : 0;
  out.ops.reserve(count);
  out.first_pred.reserve(count + 1);
  out.first_pred.push_back(0);
  out.preds.reserve(graph.preds.size());
  std::vector<std::uint32_t> place(graph.size(), 0);
  for (const std::uint32_t i : graph.order) {
    if (head[i] == i) {
      const GraphOp& op = graph.ops[i];
      place[i] = static_cast<std::uint32_t>(out.ops.size());
      out.ops.push_back({.rank_row = op.rank_row, .rank = op.rank, .match = graph.match[i], .op = op.op,
                         .dimension = op.dimension, .with_others = is_with_others(op), .transfer_known = unseen_ns[i] != 0});
      for (const std::uint32_t pred : graph.preds_of(i)) out.preds.push_back(place[head[pred]]);
      out.first_pred.push_back(static_cast<std::uint32_t>(out.preds.size()));
    }
    ShortOp& into = out.ops[place[head[i]]];
    into.measured_gap_ns += measured.gap_ns[i];
    into.ideal_gap_ns += ideal.gap_ns[i];
    into.measured_run_ns += measured.run_ns[i];
    into.ideal_run_ns += ideal.run_ns[i];
    into.hidden_run_ns += unseen_ns[i] < 0 ? 0 : measured.run_ns[i] - unseen_ns[i];
  }
  out.first_member = graph.first_member;
  out.members.reserve(graph.members.size());
  for (const std::uint32_t member : graph.members) out.members.push_back(place[member]);
  return out;
}

void CaseReplays::run() {
  constexpr Lanes none{};
  std::ranges::fill(last_ns_, LastStart{});
  Lanes length_ns = none;
  const auto mix = [](std::uint8_t bits, std::int64_t measured, std::int64_t changed, std::int64_t ideal) {
    Lanes out;
    for (std::size_t c = 0; c < cases_at_once; ++c) {
      const std::int64_t mask = -static_cast<std::int64_t>(bits >> c & 1);
      out[c] = (changed & mask) | (measured & ~mask);
      out[cases_at_once + c] = (measured & mask) | (ideal & ~mask);
    }
    return out;
  };
  const auto later = [](Lanes& ns, const Lanes& other) {
    for (std::size_t lane = 0; lane < ns.size(); ++lane) ns[lane] = std::max(ns[lane], other[lane]);
  };
  const auto plus = [](Lanes& ns, const Lanes& more) {
    for (std::size_t lane = 0; lane < ns.size(); ++lane) ns[lane] += more[lane];
  };
  const auto run_of = [&](std::size_t i) {
    const ShortOp& op = graph_.ops[i];
    return mix(bits_[i].run, op.measured_run_ns, change_ == ShortChange::ideal ? op.ideal_run_ns : op.hidden_run_ns,
               op.ideal_run_ns);
  };
  for (std::size_t i = 0; i < graph_.ops.size(); ++i) {
    const ShortOp& op = graph_.ops[i];
    const auto preds = graph_.preds_of(i);
    Lanes& at_ns = end_ns_[i];
    at_ns = preds.empty() ? none : end_ns_[preds[0]];
    for (std::size_t p = 1; p < preds.size(); ++p) later(at_ns, end_ns_[preds[p]]);
    plus(at_ns, mix(bits_[i].gap, op.measured_gap_ns, op.ideal_gap_ns, op.ideal_gap_ns));
    if (op.match < 0) {
      plus(at_ns, run_of(i));
      later(length_ns, at_ns);
      continue;
    }
    LastStart& match = last_ns_[static_cast<std::size_t>(op.match)];
    if (match.started == 0) match.last_ns = at_ns;
    else later(match.last_ns, at_ns);
    const auto members = graph_.members_of(static_cast<std::size_t>(op.match));
    if (++match.started < members.size()) continue;
    for (const std::uint32_t member : members) {
      Lanes end_ns = match.last_ns;
      plus(end_ns, run_of(member));
      later(end_ns_[member], end_ns);
      later(length_ns, end_ns_[member]);
    }
  }
  for (std::size_t c = 0; c < waiting_; ++c) lengths_.push_back({length_ns[c], length_ns[cases_at_once + c]});
  std::ranges::fill(bits_, CaseBits{});
  waiting_ = 0;
}

}  // namespace ccl
