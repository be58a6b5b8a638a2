#include "messages.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "random.hpp"

namespace synth {
namespace {

constexpr double inside_bytes_per_s = 200e9, across_bytes_per_s = 20e9;
constexpr double inside_latency_ns = 6'000, across_latency_ns = 18'000;

}  // namespace

std::int64_t rows_between(const Job& job, const Instance& instance, int members, int from, int to) {
  const std::int64_t mean = instance.in_elements / instance.row_elements / members;
  const double share = 0.5 + fraction(draw(job.seed, 71, instance.channel, instance.sequence, from, to));
  return std::max<std::int64_t>(1, std::llround(static_cast<double>(mean) * share));
}

std::vector<std::int64_t> rows_sent(const Job& job, const Instance& instance, int members, int from) {
  std::vector<std::int64_t> rows;
  for (int to = 0; to < members; ++to) rows.push_back(rows_between(job, instance, members, from, to));
  return rows;
}

std::vector<std::int64_t> rows_received(const Job& job, const Instance& instance, int members, int to) {
  std::vector<std::int64_t> rows;
  for (int from = 0; from < members; ++from) rows.push_back(rows_between(job, instance, members, from, to));
  return rows;
}

Volume volume_of(const Job& job, const Instance& instance, int members, Collective op, int position) {
  Volume v{instance.in_elements, instance.out_elements, 0, 0};
  if (op == Collective::send) v.out_elements = 0;
  if (op == Collective::recv) v.in_elements = 0;
  if (op == Collective::all_to_allv) {
    const auto sum = [&](const std::vector<std::int64_t>& rows) {
      return std::accumulate(rows.begin(), rows.end(), std::int64_t{0}) * instance.row_elements;
    };
    v.in_elements = sum(rows_sent(job, instance, members, position));
    v.out_elements = sum(rows_received(job, instance, members, position));
  }
  v.in_bytes = v.in_elements * size_of(instance.type);
  v.out_bytes = v.out_elements * size_of(instance.type);
  return v;
}

std::int64_t payload_bytes(Collective op, const Volume& volume) {
  return op == Collective::all_gather || op == Collective::recv ? volume.out_bytes : volume.in_bytes;
}

std::int64_t wire_bytes(const Job& job, const Instance& instance, int members, Collective op, const Volume& volume,
                        int position) {
  const std::int64_t payload = payload_bytes(op, volume);
  switch (op) {
    case Collective::all_reduce: return payload * 2 * (members - 1) / members;
    case Collective::all_gather:
    case Collective::reduce_scatter: return payload * (members - 1) / members;
    case Collective::all_to_allv:
      return payload -
             rows_between(job, instance, members, position, position) * instance.row_elements * size_of(instance.type);
    case Collective::send:
    case Collective::recv: break;  // a message counts on both ends
  }
  return payload;
}

std::int64_t transfer_ns(const Job& job, const Topology& topology, const Instance& instance) {
  const Channel& channel = topology.channels[static_cast<std::size_t>(instance.channel)];
  const Group& group = topology.groups[static_cast<std::size_t>(channel.group)];
  if (!job.instant_dimension.empty() && group.dimension == job.instant_dimension) return 0;
  std::vector<int> members = group.members;
  bool across = group.across_hosts;
  if (channel.source >= 0) {
    members = {channel.source, channel.destination};
    across = channel.source / job.ranks_per_host != channel.destination / job.ranks_per_host;
  }
  const auto count = static_cast<int>(members.size());
  const Collective op = channel.source >= 0 ? Collective::send : instance.op;
  std::int64_t wire = 0;
  for (int position = 0; position < (op == Collective::all_to_allv ? count : 1); ++position)
    wire =
        std::max(wire, wire_bytes(job, instance, count, op, volume_of(job, instance, count, op, position), position));
  double ns = static_cast<double>(wire) / (across ? across_bytes_per_s : inside_bytes_per_s) * 1e9;
  ns += (across ? across_latency_ns : inside_latency_ns) * (1 + 0.25 * std::log2(static_cast<double>(count)));
  ns *= 1 + 0.04 * fraction(draw(job.seed, 72, instance.channel, instance.sequence));
  ns *= link_factor(job.faults, members, across, job.ranks_per_host, instance.step);
  return std::llround(ns);
}

}  // namespace synth
