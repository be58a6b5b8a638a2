// A metric on a few hand-made traces, from local() to result(): what the driver does, without files, workers or the
// matching code. Collectives are matched here by (group, step, op, ordinal).
//
//   SmallRun run;
//   run.add(TraceBuilder()….build(), "node0").add(…, "node1");
//   const MetricResult result = run.result("straggler_lag");
#pragma once
#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "core/collective_math.hpp"
#include "core/tables.hpp"
#include "exchange/measured_graph.hpp"
#include "exchange/record_context.hpp"
#include "metrics/all_metrics.hpp"
#include "metrics/trace_views.hpp"
#include "parse/classify.hpp"
#include "parse/config_files.hpp"
#include "support/trace_builder.hpp"

namespace ccl::test {

class SmallRun {
 public:
  Ranks ranks;
  Groups groups;
  ClockModel clock;
  Config config;
  Workload workload;

  /// Ranks are added in the order of /ranks: (iteration, replica, rank).
  SmallRun& add(RankTrace trace, const std::string& host = "node0") {
    mark_work(trace, TraceViews(trace, classifier_).phases());
    RankEntry entry;
    entry.iteration = trace.iteration;
    entry.replica = trace.replica;
    entry.rank = trace.rank;
    entry.host = host;
    entry.host_index = host_row(host);
    entry.host_source = HostSource::content;
    entry.facts.steps = trace.steps;
    entry.facts.devices = trace.devices;
    entry.facts.gpu = trace.gpu;
    entry.facts.gpu_memory_bytes = trace.gpu_memory_bytes;
    entry.facts.gpu_events_count = static_cast<std::int64_t>(trace.events.size());
    for (std::size_t i = 0; i < trace.events.size(); ++i) {
      entry.facts.last_ns = std::max(entry.facts.last_ns, trace.events.end_ns(i));
      if (i == 0) entry.facts.first_ns = trace.events.start_ns[i];
    }
    const auto row = static_cast<std::int32_t>(ranks.entries.size());
    for (std::uint32_t local = 0; local < trace.groups.size(); ++local)
      groups.mine.push_back({row, local, add_group(trace.groups[local])});
    ranks.entries.push_back(std::move(entry));
    ranks.expected = static_cast<std::int64_t>(ranks.entries.size());
    clock.hosts.resize(ranks.hosts.size());
    traces_.push_back(std::move(trace));
    return *this;
  }
  SmallRun& add_snapshot(MemorySnapshot snapshot) { return snapshots_.push_back(std::move(snapshot)), *this; }
  /// Matches of this group are not to be believed.
  SmallRun& not_credible(const std::string& group) { return doubted_ = group, *this; }
  /// Members of this collective of each step and group do not end together.
  SmallRun& suspect(std::int32_t ordinal) { return suspect_ = ordinal, *this; }

  /// The metric over all ranks, shared out over virtual workers by chance.
  MetricResult result(const std::string& name, std::size_t workers = 1, unsigned seed = 1) {
    matrices.clear();
    std::mt19937 random(seed);
    const auto deal = [&] { return static_cast<std::size_t>(random() % workers); };
    std::vector<std::size_t> owner;
    for (std::size_t i = 0; i < traces_.size(); ++i) owner.push_back(deal());
    const MatchedCollectives all = matched();
    std::vector<MatchedCollectives> shares(workers);
    // What a group does in a step is matched by one worker (Owners in exchange/match.cpp).
    std::map<std::tuple<std::int32_t, std::int32_t, GroupId, std::int64_t>, std::size_t> instance_owner;
    for (const MatchedInstance& instance : all.instances) {
      const auto [dealt, added] =
          instance_owner.try_emplace({instance.iteration, instance.replica, instance.group, instance.step});
      if (added) dealt->second = deal();
      MatchedCollectives& share = shares[dealt->second];
      share.instances.push_back(instance);
      share.instances.back().first_member = static_cast<std::uint32_t>(share.members.size());
      const auto from = all.members.begin() + instance.first_member;
      share.members.insert(share.members.end(), from, from + instance.members_seen);
    }
    StringTable strings;
    std::vector<std::unique_ptr<Metric>> metrics;
    for (std::size_t worker = 0; worker < workers; ++worker) {
      metrics.push_back(std::move(start_metrics({name}).front()));
      read(*metrics.back(), worker, owner, strings);
    }
    for (const MemorySnapshot& snapshot : snapshots_)
      metrics[deal()]->snapshot(snapshot, {config, workload, classifier_, strings});
    // In the order of run.cpp.
    if (metrics.front()->info().needs_chains)
      for (const MeasuredGraph& graph : graphs(all, strings))
        metrics[deal()]->graph(graph, {config, workload, ranks, groups, clock, strings});
    for (std::size_t worker = 0; worker < workers; ++worker) close(*metrics[worker], worker, owner, shares[worker], all, strings);
    // As in the merge tree: neighbours first, then the results of neighbours.
    for (std::size_t distance = 1; distance < workers; distance *= 2)
      for (std::size_t to = 0; to + distance < workers; to += 2 * distance) {
        ByteWriter out;
        metrics[to + distance]->pack(out);
        const Bytes came = out.take();
        ByteReader in(came);
        metrics[to]->absorb(in);
      }
    int count = 0;
    char** arguments = nullptr;
    metrics.front()->deal(Comm(count, arguments, MpiStart::alone));
    problems = {};
    const Resolver resolver{[&](StringId id) { return strings.text(id); },
                            [&](GroupId id) { return std::int64_t{groups.row_of(id)}; }};
    return metrics.front()->result({config, workload, ranks, groups, clock, strings, problems}, resolver);
  }

  std::vector<ResultMatrix> matrices;  // of the last result(), of all workers
  Problems problems;                   // of the last result()

  /// What closing() gets of one rank.
  std::vector<CollectiveRecord> records(std::size_t row) const {
    const RankTrace& trace = traces_[row];
    std::vector<CollectiveRecord> out;
    std::map<std::tuple<GroupId, std::int64_t, CollectiveOp>, std::int32_t> ordinals;
    for (const Collective& c : trace.collectives) {
      CollectiveRecord record;
      record.group = groups.id_of(static_cast<std::int32_t>(row), c.group);
      const std::int32_t step = trace.events.step[c.event];
      record.step = step < 0 ? outside_step : trace.steps[static_cast<std::size_t>(step)].number;
      record.start_ns = trace.events.start_ns[c.event];
      record.dur_ns = trace.events.dur_ns[c.event];
      record.in_bytes = c.in_bytes();
      record.out_bytes = c.out_bytes();
      record.iteration = trace.iteration;
      record.replica = trace.replica;
      record.rank_row = static_cast<std::int32_t>(row);
      record.rank = trace.rank;
      record.group_size = c.group_size;
      record.peer = c.peer;
      record.op = c.op;
      record.dtype = c.dtype;
      record.has_arguments = c.has_arguments;
      record.ordinal = ordinals[{record.group, record.step, record.op}]++;
      record.local = static_cast<std::uint32_t>(out.size());
      record.lane = trace.events.lane[c.event];
      out.push_back(record);
    }
    add_context(trace, synchronised_before_ns(trace), out);
    return out;
  }

 private:
  std::int32_t host_row(const std::string& host) {
    const auto at = std::find(ranks.hosts.begin(), ranks.hosts.end(), host);
    const auto row = static_cast<std::int32_t>(at - ranks.hosts.begin());
    if (at == ranks.hosts.end()) ranks.hosts.push_back(host);
    return row;
  }

  GroupId add_group(const ProcessGroup& local) {
    const GroupId id(string_id("group " + local.name).value);
    if (groups.row_of(id) >= 0) return id;
    Group group;
    group.id = id;
    group.name = local.name;
    group.description = local.description;
    group.dimension = local.dimension;
    group.size = local.size;
    group.members = local.members;
    group.members_complete = local.members_complete();
    groups.groups.push_back(group);
    return id;
  }

  void read(Metric& metric, std::size_t worker, const std::vector<std::size_t>& owner, StringTable& strings) {
    std::vector<Metric::BatchKey> keys;
    for (std::size_t i = 0; i < traces_.size(); ++i) {
      if (owner[i] != worker) continue;
      TraceViews views(traces_[i], classifier_);
      metric.local(traces_[i], {config, workload, classifier_, strings, &views});
      const RankEntry& entry = ranks.entries[i];
      keys.push_back({entry.iteration, entry.rank, true, entry.replica, entry.step_shift});
    }
    metric.settle(keys);
  }

  void close(Metric& metric, std::size_t worker, const std::vector<std::size_t>& owner, const MatchedCollectives& share,
             const MatchedCollectives& all, const StringTable& strings) {
    const ClosingContext context{config, workload, ranks, groups, clock, strings};
    metric.matched(share, context);
    for (std::size_t i = 0; i < traces_.size(); ++i) {
      if (owner[i] != worker) continue;
      const std::vector<CollectiveRecord> own = records(i);
      const std::vector<RankSegments> segments = segments_of(traces_[i]);
      const std::vector<RecordVerdict> verdicts = verdicts_of(i, own.size(), all);
      metric.closing({static_cast<std::int32_t>(i), ranks.entries[i], segments, own, verdicts}, context);
    }
    for (ResultMatrix& matrix : metric.take_matrices()) matrices.push_back(std::move(matrix));
  }

  /// One graph per step over all ranks, as the step's owner gets them.
  std::vector<MeasuredGraph> graphs(const MatchedCollectives& all, StringTable& strings) const {
    std::vector<RankChain> chains;
    std::vector<CollectiveRecord> own;
    Matched matched{all, clock, {}};
    std::vector<std::size_t> first_record;
    for (std::size_t i = 0; i < traces_.size(); ++i) {
      first_record.push_back(own.size());
      RankChain chain{static_cast<std::int32_t>(i), Chain(traces_[i], strings), {}, own.size()};
      for (const Step& step : traces_[i].steps) chain.step_numbers.push_back(step.number + ranks.entries[i].step_shift);
      if (ranks.entries[i].takes_part) chains.push_back(std::move(chain));
      for (const CollectiveRecord& record : records(i)) own.push_back(record);
    }
    for (MatchedMember& member : matched.mine.members)
      member.local += static_cast<std::uint32_t>(first_record[static_cast<std::size_t>(member.rank_row)]);
    int argc = 0;
    char** argv = nullptr;
    const Comm alone(argc, argv);
    GraphGather gather(std::move(chains), own, matched, ranks, groups, alone);
    std::vector<MeasuredGraph> out;
    for (std::size_t round = 0; round < gather.rounds_count(); ++round) {
      auto [key, ops] = gather.step_of(round);
      out.emplace_back(link_graph(std::move(ops), key));
    }
    return out;
  }

  static std::vector<RankSegments> segments_of(const RankTrace& trace) {
    std::vector<RankSegments> out;
    for (const std::int32_t device : trace.devices) {
      RankSegments of{device, {}, {}, {}};
      for (std::size_t i = 0; i < trace.events.size(); ++i) {
        if (trace.lanes[trace.events.lane[i]].device != device) continue;
        const EventKind kind = trace.events.kind[i];
        Intervals& list = kind == EventKind::communication ? of.communication
                          : kind == EventKind::compute     ? of.compute
                                                           : of.memory;
        append_merged(list, {trace.events.start_ns[i], trace.events.end_ns(i)});
      }
      out.push_back(of);
    }
    return out;
  }

  // What a rank learns of its own collectives, parallel to its records.
  static std::vector<RecordVerdict> verdicts_of(std::size_t row, std::size_t count, const MatchedCollectives& all) {
    std::vector<RecordVerdict> out(count);
    for (std::uint32_t i = 0; i < count; ++i) out[i].local = i;
    for (const MatchedInstance& instance : all.instances) {
      if (!instance.credible) continue;
      for (std::int32_t m = 0; m < instance.members_seen; ++m) {
        const MatchedMember& member = all.members[instance.first_member + static_cast<std::uint32_t>(m)];
        if (member.rank_row != static_cast<std::int32_t>(row)) continue;
        out[member.local].transfer_ns = instance.transfer_ns;
        out[member.local].last_rank = instance.last_rank;
      }
    }
    return out;
  }

  MatchedCollectives matched() const {
    std::map<std::tuple<std::int32_t, std::int32_t, GroupId, std::int64_t, std::int32_t, CollectiveOp>,
             std::vector<CollectiveRecord>>
        found;
    for (std::size_t row = 0; row < traces_.size(); ++row)
      for (const CollectiveRecord& r : records(row))
        found[{r.iteration, r.replica, r.group, r.step, r.ordinal, r.op}].push_back(r);
    MatchedCollectives out;
    for (const auto& [key, members] : found)
      if (members.size() > 1) add_instance(members, out);
    return out;
  }

  void add_instance(const std::vector<CollectiveRecord>& members, MatchedCollectives& out) const {
    const CollectiveRecord& one = members.front();
    MatchedInstance instance;
    instance.group = one.group;
    instance.iteration = one.iteration;
    instance.replica = one.replica;
    instance.step = one.step;
    instance.ordinal = one.ordinal;
    instance.op = one.op;
    instance.group_size = one.group_size;
    std::vector<std::int32_t> present;
    for (const CollectiveRecord& r : members) {
      present.push_back(r.rank.value);
      const std::int64_t payload = payload_bytes(r.op, r.in_bytes, r.out_bytes, r.group_size);
      instance.payload_bytes = std::max(instance.payload_bytes, payload);
    }
    instance.wire_bytes = wire_bytes(one.op, instance.payload_bytes, one.group_size);
    instance.link_class = ranks.link_class(one.iteration, one.replica, present);
    instance.members_seen = static_cast<std::int32_t>(members.size());
    instance.incomplete = instance.members_seen < one.group_size;
    instance.credible = groups.groups[static_cast<std::size_t>(groups.row_of(one.group))].name != doubted_;
    instance.first_member = static_cast<std::uint32_t>(out.members.size());
    instance.suspect = one.ordinal == suspect_;
    if (is_symmetric(one.op) && !instance.suspect) {
      std::vector<std::pair<std::int64_t, std::int32_t>> by_dur;
      for (const CollectiveRecord& r : members) by_dur.emplace_back(r.dur_ns, r.rank.value);
      std::sort(by_dur.begin(), by_dur.end());
      const auto longest =
          std::find_if(by_dur.begin(), by_dur.end(), [&](const auto& d) { return d.first == by_dur.back().first; });
      instance.transfer_ns = by_dur[0].first;
      instance.last_rank = by_dur[0].second;
      instance.delay_ns = by_dur[1].first - by_dur[0].first;
      instance.first_rank = longest->second;
      instance.lag_ns = longest->first - instance.transfer_ns;
      instance.wait_sum_ns = 0;
      for (const auto& [dur_ns, rank] : by_dur) instance.wait_sum_ns += dur_ns - instance.transfer_ns;
    }
    for (const CollectiveRecord& r : members) {
      MatchedMember member;
      member.rank_row = r.rank_row;
      member.rank = r.rank;
      member.start_ns = r.start_ns;
      member.dur_ns = r.dur_ns;
      member.local = r.local;
      member.before = r.before;
      member.wait_ns = instance.transfer_ns < 0 ? -1 : r.dur_ns - instance.transfer_ns;
      out.members.push_back(member);
    }
    out.instances.push_back(instance);
  }

  std::vector<RankTrace> traces_;
  std::vector<MemorySnapshot> snapshots_;
  Classifier classifier_{merged_settings("kernels", Config())};
  std::string doubted_ = "no group has this name";
  std::int32_t suspect_ = -1;
};

/// Headline value of a result; NaN if there is none of that name.
inline double headline(const MetricResult& result, const std::string& name) {
  for (const Headline& line : result.report.headlines)
    if (line.name == name) return line.value;
  return std::numeric_limits<double>::quiet_NaN();
}
inline const ResultTable& table(const MetricResult& result, std::string_view name) {
  for (const auto* tables : {&result.tables, &result.report.extra_tables})
    for (const ResultTable& found : *tables)
      if (found.name == name) return found;
  throw std::logic_error("no table " + std::string(name));
}
inline std::int64_t integer_at(const MetricResult& result, const std::string& name, std::int64_t row,
                               const std::string& column) {
  return std::get<std::int64_t>(cell_at(table(result, name), row, column));
}
inline std::string text_at(const MetricResult& result, const std::string& name, std::int64_t row,
                           const std::string& column) {
  return std::get<std::string>(cell_at(table(result, name), row, column));
}
/// The page as one text, its wrapped lines joined by single spaces.
inline std::string page_of(const MetricResult& result) {
  std::string all;
  for (const std::string& line : result.report.page) {
    const std::size_t from = line.find_first_not_of(' ');
    if (!all.empty()) all += ' ';
    all.append(line, from == std::string::npos ? 0 : from);
  }
  return all;
}

}  // namespace ccl::test
