// The closed vocabularies of the field, and their names as PyTorch, NCCL and nccl-tests spell them.
#pragma once
#include <cstdint>
#include <string_view>

namespace ccl {

/// What a GPU event is. Annotations copied to the GPU timeline are not GPU events.
enum class EventKind : std::uint8_t { compute, communication, memory_copy, memory_set };

enum class CollectiveOp : std::uint8_t {
  unknown, all_reduce, all_gather, reduce_scatter, all_to_all, all_to_allv, broadcast, reduce, gather, scatter,
  send, recv, send_recv,  // send_recv: a point-to-point kernel whose direction the trace does not tell
  barrier, dispatch, combine  // dispatch, combine: expert-parallel kernels (DeepEP, NVSHMEM), without bytes
};
inline constexpr int collective_op_count = 16;

/// c10 scalar types by size and name (the spelling in Kineto's `dtype`).
enum class Dtype : std::uint8_t {
  unknown, float32, float64, float16, bfloat16, int8, uint8, boolean, int16, int32, int64, uint16, uint32, uint64,
  float8, float4x2, complex32, complex64, complex128, untyped  // untyped: bytes, the trace does not say of what
};

/// Which parallelism a process group serves.
enum class Dimension : std::uint8_t { unknown, world, dp, tp, pp, cp, ep, mixed };
inline constexpr int dimension_count = 8;

enum class LinkClass : std::uint8_t { unknown, intra, inter };
enum class MatchRule : std::uint8_t { sequence, ordinal, aligned, pair };
enum class RankSource : std::uint8_t {
  none, content, option, file_name, only_file, name_after_clash,
  label, communicator, environment, thread_name, device_order  // kinds of content, of exports with many processes
};
enum class HostSource : std::uint8_t { unknown, option, content, file_name, block, card };
enum class StepSource : std::uint8_t { marker, span };
enum class TraceFormat : std::uint8_t {
  unknown, kineto, nsys_sqlite, nsys_jsonlines, memory_snapshot, execution_trace
};
/// Written by Nsight Systems, in whatever form.
bool is_nsys(TraceFormat format);
/// Read with or beside traces, gives no RankTrace of its own.
bool is_companion(TraceFormat format);
enum class RankStatus : std::uint8_t { ok, partial, no_gpu_events, left_out };
enum class Status : std::uint8_t { ok, partial, absent, not_applicable };

std::string_view to_text(EventKind);
std::string_view to_text(CollectiveOp);
std::string_view to_text(Dtype);
std::string_view to_text(Dimension);
std::string_view to_text(LinkClass);
std::string_view to_text(MatchRule);
std::string_view to_text(RankSource);
std::string_view to_text(HostSource);
std::string_view to_text(StepSource);
std::string_view to_text(TraceFormat);
std::string_view to_text(RankStatus);
std::string_view to_text(Status);

}  // namespace ccl
