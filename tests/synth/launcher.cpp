#include "launcher.hpp"

#include <algorithm>
#include <cmath>

#include "random.hpp"

namespace synth {
namespace {

constexpr double flops_per_s = 156e12, memory_bytes_per_s = 1.1e12;

}  // namespace

Launcher::Launcher(const Job& job, const Topology& topology, int rank, int step, std::vector<Meeting>& meetings)
    : job_(job),
      m_(job.model),
      rank_(rank),
      step_(step),
      place_(place_of(job.mesh, rank)),
      channels_(topology.channel_of[static_cast<std::size_t>(rank)]),
      tokens_(std::max<std::int64_t>(1, job.tokens_per_pass(step) / job.mesh.cp)),
      // Without FSDP (or Megatron's optimizer) TorchTitan applies no mixed precision.
      activations_(sharded() || job.serves() ? ElementType::bfloat16 : ElementType::float32),
      meetings_(meetings),
      slowness_(compute_factor(job.faults, rank, step)) {}

std::int32_t Launcher::add(Op op, std::initializer_list<std::int32_t> needs) {
  std::copy(needs.begin(), needs.end(), op.needs);
  op.microbatch = microbatch_;
  op.layer = layer_;
  op.chunk = chunk_;
  op.phase = phase_;
  const auto index = static_cast<std::int32_t>(program_.ops.size());
  program_.ops.push_back(op);
  return index;
}

void Launcher::compute(Kernel kernel, double ns, std::int32_t need, std::int32_t need_too) {
  const double noise = fraction(draw(job_.seed, 11, rank_, step_, program_.ops.size())) * 2 - 1;
  Op op;
  op.kernel = kernel;
  op.duration = std::llround(std::max(2500.0, ns) * slowness_ * (1 + job_.jitter_ratio * noise));
  last_compute_ = add(op, {need, need_too});
}

void Launcher::gemm(Kernel kernel, std::int64_t rows, std::int64_t inner, std::int64_t columns, std::int32_t need) {
  const double flops = 2.0 * static_cast<double>(rows) * static_cast<double>(inner) * static_cast<double>(columns);
  compute(kernel, flops / flops_per_s * 1e9, need);
}

void Launcher::elementwise(Kernel kernel, std::int64_t elements, int passes, std::int32_t need, std::int32_t too) {
  compute(kernel, static_cast<double>(elements) * 2.0 * passes / memory_bytes_per_s * 1e9, need, too);
}

void Launcher::memory(Kernel kernel, std::int64_t bytes) {
  Op op;
  op.kernel = kernel;
  op.bytes = static_cast<std::int32_t>(bytes);
  op.duration = std::llround(1500 + static_cast<double>(bytes) / 20.0);
  last_compute_ = add(op, {});
}

std::int32_t Launcher::communicate(Queue queue, Collective op, std::int64_t in, std::int64_t out, ElementType type,
                                   std::int32_t need, std::int32_t need_too, std::int64_t row) {
  Op kernel;
  kernel.kernel = Kernel::communication;
  kernel.queue = static_cast<std::uint8_t>(queue);
  kernel.collective = op;
  kernel.instance = static_cast<std::int32_t>(meetings_.size());
  const std::int32_t channel = channels_[queue];
  meetings_.push_back(
      {channel, ordinals_[channel]++, op == Collective::recv ? Collective::send : op, type, in, out, row});
  return add(kernel, {need, need_too});
}

void Launcher::attention(Kernel kernel, double passes) {
  const double flops = passes * 2.0 * static_cast<double>(tokens_) * static_cast<double>(m_.seq) *
                       static_cast<double>(m_.hidden) / job_.mesh.tp;
  const int rounds = job_.mesh.cp;
  for (int round = 0; round < rounds; ++round) {
    const std::int32_t arrived = take_pending();
    if (round + 1 < rounds) {
      const std::int64_t block = 2 * tokens_ * m_.kv_dim() / job_.mesh.tp;
      communicate(ring_send_queue, Collective::send, block, 0, activations_, last_compute_, arrived);
      pending_ = communicate(ring_receive_queue, Collective::recv, 0, block, activations_, last_compute_, arrived);
    }
    compute(kernel, flops / rounds / flops_per_s * 1e9, arrived);
  }
}

void Launcher::enter_parallel_region() {
  if (channels_[tp_queue] < 0 || job_.tensor_parallel == TensorParallel::all_reduce) return;
  const std::int64_t whole = tokens_ * m_.hidden;
  pending_ = communicate(tp_queue, Collective::all_gather, whole / job_.mesh.tp, whole, activations_, last_compute_);
}

void Launcher::leave_parallel_region() {
  if (channels_[tp_queue] < 0) return;
  const std::int64_t whole = tokens_ * m_.hidden;
  if (job_.tensor_parallel == TensorParallel::all_reduce)
    pending_ = communicate(tp_queue, Collective::all_reduce, whole, whole, activations_, last_compute_);
  else
    pending_ =
        communicate(tp_queue, Collective::reduce_scatter, whole, whole / job_.mesh.tp, activations_, last_compute_);
}

void Launcher::exchange_tokens() {
  if (channels_[ep_queue] < 0) return;
  const std::int64_t elements = tokens_ * m_.top_k * m_.hidden / job_.mesh.tp;
  pending_ =
      communicate(ep_queue, Collective::all_to_allv, elements, elements, activations_, last_compute_, -1, m_.hidden);
}

void Launcher::load_batch() {
  const std::int64_t bytes = m_.local_batch * m_.seq * 8;
  memory(Kernel::copy_to_device, bytes);
  memory(Kernel::copy_to_device, bytes);
  memory(Kernel::clear, 4);
}

}  // namespace synth
