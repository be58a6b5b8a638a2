// traffic_distribution: how many bytes go over the wire, for which parallelism, between whom.
// Definition: payload S and wire bytes of every communication kernel by nccl-tests' PERFORMANCE.md,
// summed by dimension, operation, type, group and link class. All-to-all with split
// sizes: bytes to peer j = in bytes · split_j / Σ split, the own part is not on the wire. A message counts on both
// ends. Merge: sums. Headline: wire bytes per rank and step, fractions of bytes and of time by dimension.
#include "metrics/traffic_distribution.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "core/collective_math.hpp"
#include "core/wide.hpp"
#include "metrics/moved.hpp"

namespace ccl {
namespace {

using namespace traffic;

struct TrafficDistribution {
  static MetricInfo info() {
    return {.name = "traffic_distribution",
            .unit = "GB per rank and step",
            .question = "How many bytes go over the wire, and for which parallelism?",
            .definition =
                "Mean over (rank, step) of the wire bytes of its communication kernels by the nccl-tests "
                "convention, split by dimension, operation, group and link class.",
            .needs = "communication kernels with message sizes (PyTorch 2.2 and newer write them)",
            .section = PageSection::traffic,
            .aliases = {},
            .wants = {},
            .needs_records = true};
  }
  using Tables = traffic::Tables;

  static void local(const RankTrace& trace, const LocalContext&, Tables& out) {
    for (const Collective& c : trace.collectives) {
      const bool all_to_all = c.op == CollectiveOp::all_to_all || c.op == CollectiveOp::all_to_allv;
      if (!all_to_all || c.splits_cut || c.splits_count == 0 || c.in_bytes() < 0) continue;
      const auto splits = std::span(trace.splits).subspan(c.first_split, c.splits_count);
      const std::int64_t total = std::accumulate(splits.begin(), splits.end(), std::int64_t{0});
      if (total <= 0) continue;
      Split row;
      const std::int32_t step = trace.events.step[c.event];
      if (step >= 0) row.step.step = trace.steps[static_cast<std::size_t>(step)].number;
      row.local_group = c.group;
      row.op = c.op;
      row.dtype = c.dtype;
      row.calls_count = 1;
      row.wire_bytes = wire_bytes(c.op, c.in_bytes(), std::int64_t{c.splits_count});
      for (const std::int64_t split : splits) {
        ++row.position;
        row.bytes = scaled(c.in_bytes(), split, total);
        out.of<Split>().push_back(row);
        row.wire_bytes = 0;
      }
    }
  }

  using Shared = Links;
  static Shared shared(const ClosingContext& context) { return {context.ranks, context.groups}; }

  static void closing(const ClosingRank& rank, const ClosingContext& context, Shared& links, Tables& out) {
    const RankEntry& entry = rank.entry;
    std::map<std::int64_t, Volume> steps;
    for (const Step& step : entry.facts.steps)
      if (step.has_gpu_events()) steps[step.number + entry.step_shift] = {};
    std::map<decltype(ByGroup().key()), ByGroup> sums;
    std::map<std::tuple<GroupId, CollectiveOp, Dtype>, Alike> all_alike;
    for (const CollectiveRecord& record : rank.records) {
      Alike& alike = all_alike[{record.group, record.op, record.dtype}];
      if (!alike.same_size(record)) alike.last = record, alike.bytes = volume_of(record, context.groups);
      if (alike.sum == nullptr || is_point_to_point(record.op)) alike.link_class = links.of(record, entry);
      if (is_point_to_point(record.op) && record.peer >= 0) add_peer(record, entry, alike.link_class, out.of<Pair>());
      if (alike.sum == nullptr || alike.sum->step.step != record.step || alike.sum->link_class != alike.link_class) {
        ByGroup part;
        part.step = {entry.iteration, record.step};
        part.rank = entry.rank;
        part.replica = entry.replica;
        part.group = record.group;
        part.op = record.op;
        part.dtype = record.dtype;
        part.dimension = dimension_of(context.groups, record.group, record.op);
        part.link_class = alike.link_class;
        alike.sum = &sums.try_emplace(part.key(), part).first->second;
      }
      alike.bytes.time_ns = record.dur_ns;
      alike.sum->bytes.combine(alike.bytes);
    }
    std::vector<ByGroup> parts;
    for (const auto& [key, sum] : sums) parts.push_back(sum);
    add_splits(rank, context, links, parts, out);
    sort_and_fold(parts);
    for (const ByGroup& part : parts) {
      out.of<ByGroup>().push_back(part);
      if (part.step.step == outside_step) continue;
      steps[part.step.step].combine(part.bytes);
      out.of<Total>().push_back({entry.iteration, part.dimension, part.op, part.link_class, part.bytes});
    }
    for (const auto& [step, bytes] : steps)
      out.of<Row>().push_back({{entry.iteration, step}, entry.rank, entry.replica, bytes});
    out.fold_when_doubled<Total>();
  }

  static void report(const Tables& tables, const ReportContext& context, Report& out) {
    write_traffic_report(tables, context, out);
  }

 private:
  /// Kernels of one group, operation and type: what they move is worked out once for those of one size, and the sum they
  /// go to is looked up once a step.
  struct Alike {
    CollectiveRecord last;
    Volume bytes;  // of the last
    LinkClass link_class = LinkClass::unknown;
    ByGroup* sum = nullptr;
    bool same_size(const CollectiveRecord& record) const {
      return sum != nullptr && record.in_bytes == last.in_bytes && record.out_bytes == last.out_bytes &&
             record.group_size == last.group_size;
    }
  };

  static Volume volume_of(const CollectiveRecord& record, const Groups& groups) {
    std::int64_t size = record.group_size;
    const Group* group = groups.find(record.group);
    if (size < 0 && group != nullptr) size = group->size;
    Volume out;
    out.calls_count = 1;
    out.time_ns = record.dur_ns;
    const std::int64_t payload = payload_bytes(record.op, record.in_bytes, record.out_bytes, size);
    const bool needs_size = !is_point_to_point(record.op) && record.op != CollectiveOp::barrier;
    if (payload < 0 || (needs_size && size < 0)) {
      out.unknown_bytes_count = 1;
      return out;
    }
    out.in_bytes = std::max<std::int64_t>(record.in_bytes, 0);
    out.out_bytes = std::max<std::int64_t>(record.out_bytes, 0);
    out.payload_bytes = payload;
    out.wire_bytes = wire_bytes(record.op, payload, size < 0 ? 2 : size);
    return out;
  }

  static void add_peer(const CollectiveRecord& record, const RankEntry& entry, LinkClass link, std::vector<Pair>& out) {
    Pair pair{.iteration = entry.iteration, .replica = entry.replica};
    pair.link_class = link;
    if (record.op == CollectiveOp::send && record.in_bytes >= 0) {
      pair.source = entry.rank.value;
      pair.destination = record.peer;
      pair.sent_count = 1;
      pair.sent_bytes = record.in_bytes;
    } else if (record.op == CollectiveOp::recv && record.out_bytes >= 0) {
      pair.source = record.peer;
      pair.destination = entry.rank.value;
      pair.received_count = 1;
      pair.received_bytes = record.out_bytes;
    } else {
      return;
    }
    out.push_back(pair);
  }

  // Turns this rank's splits into pairs, and replaces the (n−1)/n of their wire bytes by what really leaves the rank.
  static void add_splits(const ClosingRank& rank, const ClosingContext& context, Links& links, std::vector<ByGroup>& parts,
                         Tables& out) {
    const RankEntry& entry = rank.entry;
    for (const Split& split : rows_of(out.of<Split>(), entry)) {
      const GroupId id = context.groups.id_of(rank.rank_row, split.local_group);
      const Group* group = context.groups.find(id);
      if (group == nullptr || !group->members_complete) continue;
      const auto& members = group->members;
      const auto position = static_cast<std::size_t>(split.position);
      if (position >= members.size() || std::find(members.begin(), members.end(), entry.rank.value) == members.end())
        continue;
      const bool own = members[position] == entry.rank.value;
      if (!own) {
        Pair pair{.iteration = entry.iteration, .replica = entry.replica};
        pair.source = entry.rank.value;
        pair.destination = members[position];
        pair.link_class = links.of_pair(entry, members[position]);
        pair.sent_count = split.calls_count;
        pair.sent_bytes = split.bytes;
        out.of<Pair>().push_back(pair);
      }
      ByGroup part;
      part.step = split.step;
      part.rank = entry.rank;
      part.replica = entry.replica;
      part.group = id;
      part.op = split.op;
      part.dtype = split.dtype;
      part.dimension = dimension_of(context.groups, id, split.op);
      part.link_class = links.of_group(id, entry).link_class;
      part.bytes.wire_bytes = (own ? 0 : split.bytes) - split.wire_bytes;
      parts.push_back(part);
    }
    out.fold_when_doubled<Pair>();
  }
};

}  // namespace

std::unique_ptr<Metric> traffic_distribution() { return define_metric<TrafficDistribution>(); }

}  // namespace ccl
