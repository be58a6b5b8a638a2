// What the simulation produces: GPU operations with their launches, the collectives that join them, CPU spans. All
// times are ns on the true clock of the job; file clocks come in when a trace is written.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "mesh.hpp"

namespace synth {

enum class Phase : std::uint8_t { forward, backward, weight, recompute, optimizer, other };
const char* text_of(Phase phase);

enum class Kernel : std::uint8_t {
  gemm,
  gemm_input_grad,
  gemm_weight_grad,
  attention,
  attention_grad,
  norm,
  norm_grad,
  rope,
  silu,
  silu_grad,
  add,
  embedding,
  embedding_grad,
  loss,
  loss_grad,
  router,
  permute,
  norm_reduce,
  clip,
  adam,
  gather_copy,
  copy_to_device,
  clear,
  communication
};

enum class Collective : std::uint8_t { all_reduce, all_gather, reduce_scatter, all_to_allv, send, recv };
const char* text_of(Collective op);
bool is_symmetric(Collective op);

enum class ElementType : std::uint8_t { float32, bfloat16 };
inline std::int64_t size_of(ElementType type) { return type == ElementType::float32 ? 4 : 2; }

struct Op {
  std::int64_t cpu_start = 0, launch = 0, cpu_end = 0;
  std::int64_t start = 0, end = 0;       // on the GPU
  std::int64_t duration = 0;             // of compute; bytes / rate for copies
  std::int32_t instance = -1;            // communication only
  std::int32_t needs[3] = {-1, -1, -1};  // operations of the same rank and step that must have ended
  std::int32_t bytes = 0;                // copies only
  std::int16_t microbatch = -1, layer = -1;
  Kernel kernel = Kernel::gemm;
  std::uint8_t queue = compute_queue;
  Phase phase = Phase::other;
  std::int8_t chunk = -1;                          // virtual stage of the rank
  Collective collective = Collective::all_reduce;  // communication only: send and recv differ per member
};

/// One collective, or one send with its receive.
struct Instance {
  std::int32_t channel = 0, step = 0, sequence = 0;  // sequence: of the communicator, from the job's start
  Collective op = Collective::all_reduce;            // send for a pair
  ElementType type = ElementType::bfloat16;
  std::int64_t in_elements = 0, out_elements = 0;  // one member; all_to_allv: see Splits
  std::int64_t row_elements = 0;                   // all_to_allv
  std::int64_t last_arrival = 0;
  std::vector<std::pair<std::int32_t, std::int32_t>> members;  // (rank, its op), in order of arrival
};

/// A stretch of CPU work that a program would annotate.
struct Span {
  enum Kind : std::uint8_t {
    forward, backward, weight, both, forward_part, backward_part, recompute, optimizer, load, gather, reduce,
    grad_norm, message
  } kind;
  std::int32_t index = 0, chunk = 0;  // micro-batch; layer of recompute, gather and reduce (−1 embedding, −2
                                    // output); of a message: 1 sends + 2 of a backward. both: chunk holds
                                    // 16 x that of the forward + that of the backward
  std::int32_t first_op = 0, last_op = 0;
};

struct RankStep {
  std::size_t first_op = 0, end_op = 0;  // in RankRun::ops
  std::size_t first_span = 0, end_span = 0;
  std::int64_t cpu_start = 0, cpu_end = 0;
};

struct RankRun {
  std::vector<Op> ops;  // step by step, launch order; Op::needs and Span count from the step's first
  std::vector<Span> spans;
  std::vector<RankStep> steps;
};

struct JobRun {
  std::vector<RankRun> ranks;
  std::vector<Instance> instances;  // step by step
};

}  // namespace synth
