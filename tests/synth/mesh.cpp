#include "mesh.hpp"

#include <map>
#include <tuple>

namespace synth {
namespace {

class TopologyBuilder {
 public:
  TopologyBuilder(const Mesh& mesh, int ranks_per_host, Naming naming)
      : mesh_(mesh), ranks_per_host_(ranks_per_host), naming_(naming) {
    std::array<int, queue_count> none;
    none.fill(-1);
    topology_.channel_of.assign(static_cast<std::size_t>(mesh.world()), none);
  }

  Topology build() {
    for (int rank = 0; rank < mesh_.world(); ++rank) join_collectives(rank);
    for (int rank = 0; rank < mesh_.world(); ++rank) join_pairs(rank);
    return std::move(topology_);
  }

 private:
  template <class Set>
  std::vector<int> ranks_along(int rank, int count, Set set) const {
    std::vector<int> members;
    for (int i = 0; i < count; ++i) {
      Place place = place_of(mesh_, rank);
      set(place, i);
      members.push_back(rank_at(mesh_, place));
    }
    return members;
  }

  void join_collectives(int rank) {
    join(rank, pp_queue, "mesh_pp", "PIPELINE_MODEL_PARALLEL_GROUP", "pp",
         ranks_along(rank, mesh_.pp, [](Place& p, int i) { p.pp = i; }));
    join(rank, replicate_queue, "mesh_dp_replicate", "INTER_PARTIAL_DATA_PARALLEL_GROUP_WITH_CP", "dp",
         ranks_along(rank, mesh_.dp_replicate, [](Place& p, int i) { p.dp_replicate = i; }));
    join(rank, fsdp_queue, mesh_.cp > 1 ? "mesh_dp_shard_cp" : "mesh_dp_shard", "DATA_PARALLEL_GROUP_WITH_CP", "dp",
         ranks_along(rank, mesh_.sharded(), [&](Place& p, int i) { p.dp_shard = i / mesh_.cp, p.cp = i % mesh_.cp; }));
    join(rank, ring_send_queue, "mesh_cp", "CONTEXT_PARALLEL_GROUP", "cp",
         ranks_along(rank, mesh_.cp, [](Place& p, int i) { p.cp = i; }));
    join(rank, tp_queue, "mesh_tp", "TENSOR_MODEL_PARALLEL_GROUP", "tp",
         ranks_along(rank, mesh_.tp, [](Place& p, int i) { p.tp = i; }));
    const Place own = place_of(mesh_, rank);
    const int first = (own.dp_shard * mesh_.cp + own.cp) / mesh_.ep * mesh_.ep;
    join(rank, ep_queue, "mesh_ep", "EXPERT_MODEL_PARALLEL_GROUP", "ep",
         ranks_along(rank, mesh_.ep,
                     [&](Place& p, int i) { p.dp_shard = (first + i) / mesh_.cp, p.cp = (first + i) % mesh_.cp; }));
  }

  void join(int rank, Queue queue, const char* torchtitan, const char* megatron, const char* dimension,
            std::vector<int> members) {
    if (members.size() < 2) return;
    const std::string description = naming_ == Naming::torchtitan ? torchtitan : megatron;
    auto [at, is_new] =
        channels_.try_emplace({queue, members.front(), -1}, static_cast<int>(topology_.channels.size()));
    if (is_new) {
      Group group{std::to_string(topology_.groups.size() + 1), description, dimension, members, false};
      for (int member : members) group.across_hosts |= member / ranks_per_host_ != members.front() / ranks_per_host_;
      topology_.channels.push_back(
          {static_cast<int>(topology_.groups.size()), -1, -1, static_cast<int>(members.size())});
      topology_.groups.push_back(std::move(group));
    }
    topology_.channel_of[static_cast<std::size_t>(rank)][queue] = at->second;
  }

  void join_pairs(int rank) {
    auto& own = topology_.channel_of[static_cast<std::size_t>(rank)];
    if (own[pp_queue] >= 0) {
      const Group& group = topology_.groups[group_of(own[pp_queue])];
      const int n = mesh_.pp, at = place_of(mesh_, rank).pp;
      const auto join_neighbour = [&](int place, Queue to, Queue from) {
        const int neighbour = group.members[static_cast<std::size_t>((place + n) % n)];
        own[to] = pair(own[pp_queue], rank, neighbour);
        own[from] = pair(own[pp_queue], neighbour, rank);
      };
      join_neighbour(at + 1, to_next_queue, from_next_queue);
      join_neighbour(at - 1, to_previous_queue, from_previous_queue);
    }
    if (own[ring_send_queue] >= 0) {
      // The group itself has no collective of its own; its queues are the two directions of the ring.
      const int whole = channels_.at({ring_send_queue, ring_first(rank), -1});
      const int n = mesh_.cp, at = place_of(mesh_, rank).cp;
      const auto members = topology_.groups[group_of(whole)].members;
      own[ring_send_queue] = pair(whole, rank, members[static_cast<std::size_t>((at + 1) % n)]);
      own[ring_receive_queue] = pair(whole, members[static_cast<std::size_t>((at + n - 1) % n)], rank);
    }
  }

  int ring_first(int rank) const {
    Place place = place_of(mesh_, rank);
    place.cp = 0;
    return rank_at(mesh_, place);
  }
  std::size_t group_of(int channel) const {
    return static_cast<std::size_t>(topology_.channels[static_cast<std::size_t>(channel)].group);
  }
  /// One channel for all that a member of a group sends another: NCCL matches it in order.
  int pair(int whole, int source, int destination) {
    const auto group = static_cast<int>(group_of(whole));
    auto [at, is_new] = channels_.try_emplace({queue_count + group, source, destination},
                                              static_cast<int>(topology_.channels.size()));
    if (is_new) topology_.channels.push_back({group, source, destination, 2});
    return at->second;
  }

  const Mesh mesh_;
  const int ranks_per_host_;
  const Naming naming_;
  Topology topology_;
  std::map<std::tuple<int, int, int>, int> channels_;
};

}  // namespace

Place place_of(const Mesh& mesh, int rank) {
  Place p;
  p.tp = rank % mesh.tp, rank /= mesh.tp;
  p.cp = rank % mesh.cp, rank /= mesh.cp;
  p.dp_shard = rank % mesh.dp_shard, rank /= mesh.dp_shard;
  p.dp_replicate = rank % mesh.dp_replicate, rank /= mesh.dp_replicate;
  p.pp = rank;
  return p;
}

int rank_at(const Mesh& mesh, const Place& p) {
  return (((p.pp * mesh.dp_replicate + p.dp_replicate) * mesh.dp_shard + p.dp_shard) * mesh.cp + p.cp) * mesh.tp + p.tp;
}

int stream_number(int queue) { return queue == compute_queue ? 7 : 16 + 4 * queue; }

Topology make_topology(const Mesh& mesh, int ranks_per_host, Naming naming) {
  return TopologyBuilder(mesh, ranks_per_host, naming).build();
}

}  // namespace synth
