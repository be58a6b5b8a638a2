// What one rank does in one step, in launch order: operations with their queues, needs and launch costs, not yet with
// times on the GPU.
#pragma once
#include "job.hpp"
#include "work.hpp"

namespace synth {

struct Program {
  std::vector<Op> ops;
  std::vector<Span> spans;
  std::int32_t waited_for = -1;  // the CPU ends its step when this operation has ended
};

/// A meeting that a program asks for: the k-th on its channel in this step, numbered by Op::instance.
struct Meeting {
  std::int32_t channel = 0, ordinal = 0;
  Collective op = Collective::all_reduce;
  ElementType type = ElementType::bfloat16;
  std::int64_t in_elements = 0, out_elements = 0, row_elements = 0;
};

/// Op::instance of the result counts from 0 in `meetings`.
Program make_program(const Job& job, const Topology& topology, int rank, int step, std::vector<Meeting>& meetings);

}  // namespace synth
