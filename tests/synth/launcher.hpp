// The part of a rank's program that adds operations to it: kernels with a duration from the model's shapes, copies,
// and meetings with other ranks, each with what it needs. program.cpp decides which.
#pragma once
#include <array>
#include <map>
#include <utility>

#include "program.hpp"

namespace synth {

class Launcher {
 public:
  Launcher(const Job& job, const Topology& topology, int rank, int step, std::vector<Meeting>& meetings);

 protected:
  void compute(Kernel kernel, double ns, std::int32_t need = -1, std::int32_t need_too = -1);
  void gemm(Kernel kernel, std::int64_t rows, std::int64_t inner, std::int64_t columns, std::int32_t need = -1);
  /// passes: how often the elements cross the memory bus, two bytes each.
  void elementwise(Kernel kernel, std::int64_t elements, int passes, std::int32_t need = -1, std::int32_t too = -1);
  void memory(Kernel kernel, std::int64_t bytes);
  std::int32_t communicate(Queue queue, Collective op, std::int64_t in, std::int64_t out, ElementType type,
                           std::int32_t need = -1, std::int32_t need_too = -1, std::int64_t row = 0);
  void attention(Kernel kernel, double passes);
  /// Into a tensor-parallel region (gathers the sequence) and out of it (scatters or sums).
  void enter_parallel_region();
  void leave_parallel_region();
  void exchange_tokens();
  void load_batch();
  bool sharded() const { return channels_[fsdp_queue] >= 0; }

  template <class Body>
  void span(Span::Kind kind, std::int64_t index, int chunk, Body body) {
    const auto at = program_.spans.size();
    const auto first = static_cast<std::int32_t>(program_.ops.size());
    program_.spans.push_back({kind, static_cast<std::int32_t>(index), chunk, first, first});
    body();
    const auto end = static_cast<std::int32_t>(program_.ops.size());
    program_.spans[at].last_op = end - 1;
    if (end == first) program_.spans.erase(program_.spans.begin() + static_cast<std::ptrdiff_t>(at));
  }
  std::int32_t take_pending() { return std::exchange(pending_, -1); }

  const Job& job_;
  const Model& m_;
  const int rank_, step_;
  const Place place_;
  const std::array<int, queue_count>& channels_;
  const std::int64_t tokens_;
  const ElementType activations_;
  Program program_;
  std::int32_t last_compute_ = -1;
  std::int32_t pending_ = -1;  // communication that the next compute kernel needs
  Phase phase_ = Phase::other;
  std::int16_t microbatch_ = -1, layer_ = -1;
  std::int8_t chunk_ = -1;

 private:
  std::int32_t add(Op op, std::initializer_list<std::int32_t> needs);

  std::vector<Meeting>& meetings_;
  const double slowness_;
  std::map<std::int32_t, std::int32_t> ordinals_;  // meetings so far, by channel
};

}  // namespace synth
