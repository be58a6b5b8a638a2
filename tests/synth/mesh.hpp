// The rank grid of the planted job and the process groups it makes. Rank order, outermost first: pp, dp_replicate,
// dp_shard, cp, tp; ep borrows neighbouring ranks of dp_shard x cp.
#pragma once
#include <array>
#include <string>
#include <vector>

namespace synth {

struct Mesh {
  int pp = 1, dp_replicate = 1, dp_shard = 1, cp = 1, tp = 1, ep = 1;
  int world() const { return pp * dp_replicate * dp_shard * cp * tp; }
  int sharded() const { return dp_shard * cp; }  // ranks over which FSDP shards
};

struct Place {
  int pp = 0, dp_replicate = 0, dp_shard = 0, cp = 0, tp = 0;
};

Place place_of(const Mesh& mesh, int rank);
int rank_at(const Mesh& mesh, const Place& place);

/// The queues of one GPU. Each communicator has its own, as NCCL gives it; what a rank sends its neighbour in the
/// pipeline and what it gets from it too.
enum Queue {
  compute_queue,
  tp_queue,
  fsdp_queue,
  replicate_queue,
  ep_queue,
  pp_queue,
  to_next_queue,
  from_next_queue,
  to_previous_queue,
  from_previous_queue,
  ring_send_queue,
  ring_receive_queue,
  queue_count
};
int stream_number(int queue);

struct Group {
  std::string name, description, dimension;  // dimension as the product must call it: dp tp pp cp ep
  std::vector<int> members;
  bool across_hosts = false;
};

/// Where members meet: a process group, or one direction of one pair in it.
struct Channel {
  int group = -1;
  int source = -1, destination = -1;  // −1: collective
  int members_count = 0;
};

enum class Naming { torchtitan, megatron };

struct Topology {
  std::vector<Group> groups;
  std::vector<Channel> channels;
  std::vector<std::array<int, queue_count>> channel_of;  // [rank][queue], −1 = the rank has none
};

Topology make_topology(const Mesh& mesh, int ranks_per_host, Naming naming);

}  // namespace synth
