// How much each member of a collective sends and receives, and how long the wire needs for it.
#pragma once
#include "job.hpp"
#include "work.hpp"

namespace synth {

/// Bytes one member hands in and gets out.
struct Volume {
  std::int64_t in_elements = 0, out_elements = 0;
  std::int64_t in_bytes = 0, out_bytes = 0;
};

/// Rows that member `from` sends to member `to` of an all-to-all (positions in the group): uneven, from the seed.
std::int64_t rows_between(const Job& job, const Instance& instance, int members, int from, int to);
std::vector<std::int64_t> rows_sent(const Job& job, const Instance& instance, int members, int from);
std::vector<std::int64_t> rows_received(const Job& job, const Instance& instance, int members, int to);

/// op: the member's own (send or recv for a pair). position: its place in the group.
Volume volume_of(const Job& job, const Instance& instance, int members, Collective op, int position);

/// Payload S of nccl-tests for one member, and what it puts on the wire.
std::int64_t payload_bytes(Collective op, const Volume& volume);
std::int64_t wire_bytes(const Job& job, const Instance& instance, int members, Collective op, const Volume& volume,
                        int position);

/// Time from the last arrival to the common end.
std::int64_t transfer_ns(const Job& job, const Topology& topology, const Instance& instance);

}  // namespace synth
