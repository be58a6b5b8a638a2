// Bytes of collectives by the nccl-tests convention (doc/PERFORMANCE.md, src/*.cu): payload S, bus factor f, wire
// bytes per member, and the size of an element. n is the size of the process group. Unknown stays −1, never 0.
#pragma once
#include <cstdint>
#include <string_view>

#include "core/kinds.hpp"

namespace ccl {

/// Bytes of one element; 0 if unknown. (float4x2: one byte holds two values.)
std::int64_t element_bytes(Dtype dtype);
/// c10 name ("BFloat16"), NCCL or NumPy spelling, any case; unknown spelling -> Dtype::unknown.
Dtype dtype_from_text(std::string_view text);
/// Kineto's `Collective name` ("_allgather_base", "ALLGATHER_coalesced", …) -> operation; "wait" and unknown -> unknown.
CollectiveOp op_from_collective_name(std::string_view text);

/// All members leave such a collective together: all_reduce, all_gather, reduce_scatter, all_to_all(v), barrier.
bool is_symmetric(CollectiveOp op);
bool is_point_to_point(CollectiveOp op);

/// Payload S of one member, bytes: all_gather from out, reduce_scatter from in, recv and (if in is 0) broadcast and
/// reduce from out, the rest from in; gather n·in, scatter n·out. −1 if the size it needs is −1.
std::int64_t payload_bytes(CollectiveOp op, std::int64_t in_bytes, std::int64_t out_bytes, std::int64_t n);

/// busbw = S / t · f. f = 2(n−1)/n for all_reduce, (n−1)/n for all_gather, reduce_scatter, all_to_all(v), gather,
/// scatter, 1 for broadcast, reduce, send, recv; 0 for n = 1 and for operations without bytes.
double bus_factor(CollectiveOp op, std::int64_t n);

/// Bytes one member puts on the wire with the bandwidth-optimal algorithm = S·f rounded down; −1 if S is −1.
std::int64_t wire_bytes(CollectiveOp op, std::int64_t payload, std::int64_t n);

}  // namespace ccl
