#include "metrics/fsdp_slices.hpp"

#include <algorithm>

namespace ccl {
namespace {

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

}  // namespace

std::string_view to_text(FsdpOp op) {
  static constexpr std::string_view names[] = {
      "none",      "all_gather",  "reduce_scatter", "reshard",      "prefetch",      "copy_in",    "copy_out",
      "chunk_cat", "pre_forward", "post_forward",   "pre_backward", "post_backward", "accumulate", "other"};
  return names[static_cast<std::size_t>(op)];
}

FsdpOp fsdp_op_in(std::string_view name) {
  const bool fsdp1 = contains(name, "FullyShardedDataParallel");
  if (!fsdp1 && !name.starts_with("FSDP::") && !name.starts_with("fsdp::")) return FsdpOp::none;
  // The copies first: their names hold "all_gather" too.
  static constexpr std::pair<std::string_view, FsdpOp> rules[] = {{"all_gather_copy_in", FsdpOp::copy_in},
                                                                  {"all_gather_copy_out", FsdpOp::copy_out},
                                                                  {"split_with_sizes_copy", FsdpOp::copy_out},
                                                                  {"chunk_cat", FsdpOp::chunk_cat},
                                                                  {"prefetch", FsdpOp::prefetch},
                                                                  {"all_gather", FsdpOp::all_gather},
                                                                  {"reduce_scatter", FsdpOp::reduce_scatter},
                                                                  {"post_backward_reduce", FsdpOp::reduce_scatter},
                                                                  {"reshard", FsdpOp::reshard},
                                                                  {"accumulate", FsdpOp::accumulate},
                                                                  {"pre_forward", FsdpOp::pre_forward},
                                                                  {"post_forward", FsdpOp::post_forward},
                                                                  {"pre_backward", FsdpOp::pre_backward},
                                                                  {"post_backward", FsdpOp::post_backward}};
  for (const auto& [part, op] : rules)
    if (contains(name, part)) return op;
  return FsdpOp::other;
}

std::string_view fsdp_module_in(std::string_view name) {
  const std::size_t open = name.find('('), close = name.find(')', open == std::string_view::npos ? 0 : open);
  if (open != std::string_view::npos && close != std::string_view::npos && close > open)
    return name.substr(open + 1, close - open - 1);
  constexpr std::string_view served = " for ";
  const std::size_t at = name.find(served);
  return at == std::string_view::npos ? std::string_view() : name.substr(at + served.size());
}

FsdpSlices fsdp_slices(const RankTrace& trace) {
  FsdpSlices out;
  out.ops.assign(trace.strings.size(), FsdpOp::none);
  std::vector<bool> asked(trace.strings.size());
  for (const CpuSlice& slice : trace.slices) {
    if (asked[slice.name]) continue;
    asked[slice.name] = true;
    out.ops[slice.name] = fsdp_op_in(trace.strings.text(slice.name));
    out.any = out.any || out.of(slice) != FsdpOp::none;
  }
  return out;
}

std::vector<FsdpSelf> fsdp_self(const RankTrace& trace, const LaunchContext& context, const FsdpSlices& slices) {
  std::vector<FsdpSelf> out;
  std::vector<std::size_t> open;  // in out: FSDP slices around the present one, and some that ended
  for (std::size_t i = 0; i < trace.slices.size(); ++i) {
    const CpuSlice& slice = trace.slices[i];
    if (slices.of(slice) == FsdpOp::none) continue;
    // Slices come parents first: the nearest FSDP slice around this one loses what lies within both.
    std::int32_t around = context.parent[i];
    const auto is_fsdp = [&](std::int32_t row) { return slices.of(trace.slices[static_cast<std::size_t>(row)]) != FsdpOp::none; };
    while (around >= 0 && !is_fsdp(around)) around = context.parent[static_cast<std::size_t>(around)];
    while (!open.empty() && static_cast<std::int64_t>(out[open.back()].slice) != around) open.pop_back();
    if (around >= 0) {
      std::int64_t& parent_ns = out[open.back()].self_ns;
      const std::int64_t shared = std::min(slice.end_ns, trace.slices[static_cast<std::size_t>(around)].end_ns) - slice.start_ns;
      parent_ns -= std::clamp<std::int64_t>(shared, 0, parent_ns);
    }
    open.push_back(out.size());
    out.push_back({static_cast<std::uint32_t>(i), slice.end_ns - slice.start_ns});
  }
  return out;
}

}  // namespace ccl
