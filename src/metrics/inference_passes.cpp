#include "metrics/inference_passes.hpp"

#include <algorithm>
#include <charconv>
#include <map>

#include "core/statistics.hpp"
#include "metrics/busy.hpp"
#include "parse/lost_steps.hpp"

namespace ccl {
namespace {

/// The first number at or behind a word, before the next word; −1 without one.
std::int64_t number_behind(std::string_view name, std::string_view word) {
  std::size_t at = name.find(word);
  if (at == std::string_view::npos) return -1;
  at += word.size();
  std::int64_t value = -1;
  const auto read = std::from_chars(name.data() + at, name.data() + name.size(), value);
  return read.ec == std::errc() && value >= 0 ? value : -1;
}

/// "context_4(512)" or "context_4(sq512sk…)": requests and tokens.
void read_vllm(std::string_view part, std::string_view word, std::int64_t& requests, std::int64_t& tokens) {
  requests = number_behind(part, word);
  const std::size_t open = part.find('(');
  if (open == std::string_view::npos) return;
  const std::string_view inside = part.substr(open);
  tokens = number_behind(inside, inside.starts_with("(sq") ? "(sq" : "(");
}

struct Pass {
  PassMarker marker;
  std::int64_t start_ns = 0, end_ns = 0;
};

/// Outermost markers in order of time; markers of one pass on several threads lie within each other's time.
std::vector<Pass> find_passes(const RankTrace& trace) {
  std::vector<Pass> found;
  for (const CpuSlice& slice : trace.slices) {
    Pass pass;
    if (slice.kind != SliceKind::user_annotation || !read_pass_marker(trace.strings.text(slice.name), pass.marker))
      continue;
    pass.start_ns = slice.start_ns;
    pass.end_ns = slice.end_ns;
    found.push_back(pass);
  }
  std::sort(found.begin(), found.end(), [](const Pass& a, const Pass& b) {
    return std::pair(a.start_ns, -a.end_ns) < std::pair(b.start_ns, -b.end_ns);
  });
  std::vector<Pass> passes;
  for (const Pass& pass : found) {
    if (passes.empty() || pass.start_ns >= passes.back().end_ns)
      passes.push_back(pass);
    else if (!passes.back().marker.kind_known && pass.marker.kind_known)
      passes.back().marker = pass.marker;  // run_batch around step[…]: the inner one says more
  }
  if (!passes.empty() && !passes.front().marker.kind_known) passes.front().marker.kind = PassKind::prefill;
  return passes;
}

std::int64_t step_at(const RankTrace& trace, std::int64_t time_ns) {
  for (const Step& step : trace.steps)
    if (step.source == StepSource::span || (time_ns >= step.start_ns && time_ns < step.end_ns)) return step.number;
  return outside_step;
}

}  // namespace

std::string_view to_text(PassKind kind) {
  return kind == PassKind::prefill ? "prefill" : kind == PassKind::decode ? "decode" : "mixed";
}

bool read_pass_marker(std::string_view name, PassMarker& marker) {
  if (name.starts_with("execute_")) {
    const std::size_t context = name.find("context_"), generation = name.find("generation_");
    if (context != std::string_view::npos && generation != std::string_view::npos && context < generation) {
      read_vllm(name.substr(context, generation - context), "context_", marker.prefill_requests_count,
                marker.prefill_tokens_count);
      read_vllm(name.substr(generation), "generation_", marker.decode_requests_count, marker.decode_tokens_count);
      const bool prefills = marker.prefill_requests_count > 0, decodes = marker.decode_requests_count > 0;
      marker.kind = prefills && decodes ? PassKind::mixed : prefills ? PassKind::prefill : PassKind::decode;
      return prefills || decodes;
    }
  }
  if (name == "execute_model" || name == "run_batch") {
    marker.kind_known = false;
    return true;
  }
  if (!name.starts_with("step[")) return false;
  const std::int64_t requests = number_behind(name, "bs="), tokens = number_behind(name, "toks=");
  if (name.starts_with("step[EXTEND")) {
    marker.kind = PassKind::prefill;
    marker.prefill_requests_count = requests;
    marker.prefill_tokens_count = tokens;
    return true;
  }
  if (name.starts_with("step[MIXED")) {
    marker.kind = PassKind::mixed;
    marker.prefill_requests_count = number_behind(name, " c=");
    marker.prefill_tokens_count = number_behind(name, " c_sq=");
    marker.decode_requests_count = marker.decode_tokens_count = number_behind(name, " g=");
    return true;
  }
  if (name.starts_with("step[TARGET_VERIFY")) {  // speculative decoding: how many tokens are accepted is not told
    marker.decode_requests_count = requests;
    return true;
  }
  marker.decode_requests_count = requests;
  marker.decode_tokens_count = tokens < 0 ? requests : tokens;
  return name.starts_with("step[DECODE");
}

std::vector<ColumnSpec<PassRow>> PassRow::columns(const Resolver&) {
  std::vector<ColumnSpec<PassRow>> all = key_columns<PassRow>();
  const auto of_marker = [&all](const char* name, const char* description, std::int64_t PassMarker::*member) {
    all.push_back(integer_column<PassRow>(name, "", description, -1,
                                          [member](const PassRow& row) { return row.marker.*member; }));
  };
  all.push_back(column("pass", &PassRow::pass, "", "number of the pass in its trace, in order of time"));
  all.push_back(text_column<PassRow>("kind", "prefill, decode or mixed",
                                     [](const PassRow& row) { return std::string(to_text(row.marker.kind)); }));
  of_marker("prefill_requests_count", "sequences that are read", &PassMarker::prefill_requests_count);
  of_marker("prefill_tokens_count", "their tokens", &PassMarker::prefill_tokens_count);
  of_marker("decode_requests_count", "sequences that are written", &PassMarker::decode_requests_count);
  of_marker("decode_tokens_count", "tokens written", &PassMarker::decode_tokens_count);
  all.push_back(column("start_ns", &PassRow::start_ns, "ns", "start of the marker, file clock"));
  all.push_back(column("dur_ns", &PassRow::dur_ns, "ns", "its duration"));
  all.push_back(column("gpu_end_ns", &PassRow::gpu_end_ns, "ns", "end of the last GPU event it launched", absent_ns));
  all.push_back(column("communication_ns", &PassRow::communication_ns, "ns", "union of its communication kernels"));
  all.push_back(column("exposed_ns", &PassRow::exposed_ns, "ns", "of that without compute"));
  all.push_back(column("compute_ns", &PassRow::compute_ns, "ns", "union of its compute kernels"));
  all.push_back(column("busy_ns", &PassRow::busy_ns, "ns", "union of all its GPU events"));
  all.push_back(column("communication_count", &PassRow::communication_count, "", "communication kernels"));
  return all;
}

void add_passes(const RankTrace& trace, bool (*wanted)(PassKind), std::vector<PassRow>& out) {
  const std::vector<Pass> passes = find_passes(trace);
  if (passes.empty()) return;
  const std::vector<std::size_t> device_row = device_rows(trace);
  const std::size_t devices = std::max<std::size_t>(1, trace.devices.size());
  std::vector<BusyLists> busy(passes.size() * devices);
  const BusyLists none;
  const EventTable& events = trace.events;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const std::int64_t at = events.launch_ns[i] == absent_ns ? events.start_ns[i] : events.launch_ns[i];
    auto pass = std::upper_bound(passes.begin(), passes.end(), at,
                                 [](std::int64_t time, const Pass& p) { return time < p.start_ns; });
    if (pass == passes.begin() || at >= (--pass)->end_ns) continue;
    const auto row = static_cast<std::size_t>(pass - passes.begin()) * devices + device_row[events.lane[i]];
    const EventKind kind = events.kind[i];
    BusyLists& lists = busy[row];
    Intervals& into = kind == EventKind::communication ? lists.communication
                      : kind == EventKind::compute     ? lists.compute
                                                       : lists.memory;
    const Interval interval{events.start_ns[i], events.end_ns(i)};
    append_merged(into, interval);
    if (lists.empty()) lists.window = interval;
    lists.window.end_ns = std::max(lists.window.end_ns, interval.end_ns);
    ++lists.events_count[kind == EventKind::communication ? 0 : kind == EventKind::compute ? 1 : 2];
  }
  for (std::size_t p = 0; p < passes.size(); ++p) {
    if (!wanted(passes[p].marker.kind)) continue;
    const bool lacks = may_have_lost_events(trace, {passes[p].start_ns, passes[p].end_ns});
    for (std::size_t d = 0; d < devices; ++d) {
      const BusyLists& lists = lacks ? none : busy[p * devices + d];
      PassRow row;
      row.step.step = step_at(trace, passes[p].start_ns);
      row.device = d < trace.devices.size() ? trace.devices[d] : 0;
      row.pass = static_cast<std::int64_t>(p);
      row.marker = passes[p].marker;
      row.start_ns = passes[p].start_ns;
      row.dur_ns = passes[p].end_ns - passes[p].start_ns;
      if (!lists.empty()) row.gpu_end_ns = lists.window.end_ns;
      const Budget budget = lists.whole_budget();
      row.communication_ns = budget.communication_ns;
      row.exposed_ns = budget.exposed_ns;
      row.compute_ns = budget.compute_ns;
      row.busy_ns = budget.busy_ns;
      row.communication_count = lists.events_count[0];
      out.push_back(row);
    }
  }
}

std::vector<PassLength> over_ranks(const std::vector<PassRow>& passes) {
  std::map<std::tuple<std::int32_t, std::int32_t, std::int64_t>, PassLength> found;  // rows come with ranks ascending
  for (const PassRow& row : passes) {
    const auto [at, added] = found.try_emplace({row.step.iteration, row.replica, row.pass});
    PassLength& length = at->second;
    if (added) {
      length = {row.step.iteration, row.replica, row.pass, row.dur_ns, row.whole_ns(), row.start_ns, 0};
      length.tokens_count = std::max<std::int64_t>(0, row.marker.decode_tokens_count) +
                            std::max<std::int64_t>(0, row.marker.prefill_requests_count);
    }
    length.dur_ns = std::max(length.dur_ns, row.dur_ns);
    length.whole_ns = std::max(length.whole_ns, row.whole_ns());
  }
  std::vector<PassLength> out;
  for (const auto& [key, length] : found) out.push_back(length);
  return out;
}

std::string report_communication(const std::vector<PassRow>& passes, const Ranks& ranks_of_run, Report& out) {
  const auto lost = [&](const PassRow& row) {
    if (row.gpu_end_ns != absent_ns) return false;
    const std::int32_t at = ranks_of_run.find(row.step.iteration, row.replica, row.rank);
    return at >= 0 && ranks_of_run.entries[static_cast<std::size_t>(at)].facts.damaged();
  };
  struct Sum {
    std::int32_t iteration = -1;
    RankId rank;
    std::int32_t device = 0, replica = -1;
    std::int64_t passes_count = 0, whole_ns = 0, communication_ns = 0, exposed_ns = 0, compute_ns = 0;
  };
  std::map<std::tuple<std::int32_t, RankId, std::int32_t, std::int32_t>, Sum> ranks;
  Sum all;
  for (const PassRow& row : passes) {
    if (lost(row)) continue;
    Sum& own = ranks[{row.step.iteration, row.rank, row.device, row.replica}];
    own.iteration = row.step.iteration, own.rank = row.rank, own.device = row.device, own.replica = row.replica;
    for (Sum* sum : {&own, &all}) {
      ++sum->passes_count;
      sum->whole_ns += row.whole_ns();
      sum->communication_ns += row.communication_ns;
      sum->exposed_ns += row.exposed_ns;
      sum->compute_ns += row.compute_ns;
    }
  }
  const auto share = [](std::int64_t part, const Sum& sum) {
    return ratio(static_cast<double>(part), static_cast<double>(sum.whole_ns));
  };
  out.value("communication_ratio", share(all.communication_ns, all),
            "union of communication kernels / time of the passes");
  out.value("exposed_ratio", share(all.exposed_ns, all), "communication without compute / time of the passes");
  std::vector<Sum> rows;
  CappedLines lines;
  for (const auto& [key, sum] : ranks) {
    rows.push_back(sum);
    lines.add([&] {
      return "  " + rank_name(sum.replica, sum.rank) + " GPU " + std::to_string(sum.device) + ": " +
             "passes: " + std::to_string(sum.passes_count) + ", " +
             milliseconds(static_cast<double>(sum.whole_ns)) + ", communication " +
             percent(share(sum.communication_ns, sum)) + ", exposed " + percent(share(sum.exposed_ns, sum));
    });
  }
  std::vector<ColumnSpec<Sum>> columns = key_columns<Sum>();
  columns.push_back(column("passes_count", &Sum::passes_count, "", "passes"));
  columns.push_back(column("whole_ns", &Sum::whole_ns, "ns", "summed from the start of each until its GPU work ended"));
  columns.push_back(column("communication_ns", &Sum::communication_ns, "ns", "communication within them"));
  columns.push_back(column("exposed_ns", &Sum::exposed_ns, "ns", "of that without compute"));
  columns.push_back(column("compute_ns", &Sum::compute_ns, "ns", "compute within them"));
  out.extra_tables.push_back(make_table("rows", "passes of each rank and device, summed", columns, rows));
  lines.add_to(out.details);
  if (all.passes_count == 0) return "communication unknown (the GPU events of every pass are lost with the damage of the files)";
  return "communication " + percent(share(all.communication_ns, all)) + " of it, " +
         percent(share(all.exposed_ns, all)) + " exposed";
}

}  // namespace ccl
