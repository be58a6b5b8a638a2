#include "program.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "launcher.hpp"
#include "route.hpp"

namespace synth {
namespace {

class ProgramBuilder : Launcher {
 public:
  ProgramBuilder(const Job& job, const Topology& topology, int rank, int step, std::vector<Meeting>& meetings)
      : Launcher(job, topology, rank, step, meetings), route_(job) {}

  Program build() {
    phase_ = Phase::other;
    span(Span::load, 0, 0, [&] { load_batch(); });
    const std::vector<Action> actions = route_.order_of_work(place_.pp);
    for (std::size_t i = 0; i < actions.size(); ++i) {
      const Action& action = actions[i];
      begin(action);
      if (action.joined && job_.weaves()) {
        woven(action, actions[++i]);
        continue;
      }
      if (action.work == Work::forward) forward(action);
      if (action.work == Work::backward && !job_.serves()) backward(action);
      if (action.work == Work::weight && !job_.serves()) weight(action);
    }
    microbatch_ = -1, chunk_ = -1;
    if (job_.serves())
      program_.waited_for = last_compute_;  // the tokens go to the client
    else
      finish_step();
    return std::move(program_);
  }

 private:
  bool gathers() const {
    return sharded() && !job_.serves() && job_.data_parallel != DataParallel::distributed_optimizer;
  }
  /// With a pipeline the parameters stay gathered for the whole step and gradients are reduced once.
  bool keeps_parameters() const { return job_.mesh.pp > 1; }
  bool reduces_every_microbatch() const {
    return !keeps_parameters() && job_.data_parallel != DataParallel::distributed_optimizer;
  }
  /// What follows is part of the action.
  void begin(const Action& action) {
    microbatch_ = static_cast<std::int16_t>(action.microbatch);
    chunk_ = static_cast<std::int8_t>(action.chunk);
    phase_ = action.work == Work::forward    ? Phase::forward
             : action.work == Work::backward ? Phase::backward
                                             : Phase::weight;
    splits_ = action.split;
  }
  int virtual_stage(int chunk) const { return route_.stage_of(place_.pp, chunk); }
  bool is_first(int chunk) const { return virtual_stage(chunk) == 0; }
  bool is_last(int chunk) const { return virtual_stage(chunk) == job_.virtual_stages() - 1; }

  std::vector<Unit> units_of(int chunk) const {
    std::vector<Unit> units;
    if (is_first(chunk)) units.push_back({Unit::embedding, -1});
    const std::int64_t count = m_.layers / job_.virtual_stages(), first = virtual_stage(chunk) * count;
    for (std::int64_t i = first; i < first + count; ++i) units.push_back({Unit::layer, i});
    if (is_last(chunk)) units.push_back({Unit::output, -2});
    return units;
  }

  // --- parallelism -------------------------------------------------------------------------------------------

  std::int64_t elements_of(const Unit& unit) const {
    return unit_elements(m_, unit, job_.mesh.tp, job_.mesh.ep, job_.mesh.sharded());
  }

  void gather(const Unit& unit) {
    if (!gathers() || gathered_.count(unit.index)) return;
    span(Span::gather, unit.index, 0, [&] {
      const std::int64_t whole = elements_of(unit);
      gathered_[unit.index] = communicate(fsdp_queue, Collective::all_gather, whole / job_.mesh.sharded(), whole,
                                          ElementType::bfloat16, last_compute_);
    });
  }
  /// Issued before unit k is computed, so the gather of k + 1 runs under it.
  void gather_with_prefetch(const std::vector<Unit>& units, std::size_t k) {
    gather(units[k]);
    if (k + 1 < units.size()) gather(units[k + 1]);
    pending_ = gathers() ? gathered_.at(units[k].index) : -1;
    if (pending_ >= 0 && job_.fine_kernels) elementwise(Kernel::gather_copy, elements_of(units[k]), 2, take_pending());
  }

  void reduce_gradients(const Unit& unit) {
    span(Span::reduce, unit.index, 0, [&] {
      const std::int64_t whole = elements_of(unit), part = whole / job_.mesh.sharded();
      std::int32_t done = last_compute_;
      if (sharded())
        done = communicate(fsdp_queue, Collective::reduce_scatter, whole, part, ElementType::float32, done);
      if (channels_[replicate_queue] >= 0)
        done = communicate(replicate_queue, Collective::all_reduce, part, part, ElementType::float32, done);
      last_reduction_ = std::max(last_reduction_, done);
    });
  }

  // --- messages of the pipeline -------------------------------------------------------------------------------

  /// All that goes to a neighbour is on one queue, in a pipeline of two whichever way round it goes.
  bool is_next(int place) const {
    return job_.mesh.pp == 2 ? place > place_.pp : place == (place_.pp + 1) % job_.mesh.pp;
  }

  /// Receives are launched in the order of the neighbour's sends, as NCCL matches them: what comes before this one, too.
  std::int32_t receive(const Action& action) {
    const int source = route_.source_of(place_.pp, action);
    if (source < 0) return -1;
    const auto key = [](const Action& a) { return std::tuple(a.work, a.microbatch, a.chunk); };
    if (incoming_.count(source) == 0) incoming_[source] = {route_.messages(source, place_.pp), 0};
    auto& [messages, next] = incoming_[source];
    while (received_.count(key(action)) == 0) {
      const Action& message = messages.at(next++);
      begin(message);
      span(Span::message, message.work == Work::forward ? 0 : 2, 0, [&] {
        received_[key(message)] = communicate(is_next(source) ? from_next_queue : from_previous_queue, Collective::recv, 0,
                                              tokens_ * m_.hidden, activations_, last_compute_);
      });
    }
    begin(action);
    return received_.at(key(action));
  }
  /// Index of a message among the calls of a pipeline: 0 and 1 receive and send of a forward, 2 and 3 of a backward.
  void send(const Action& action) {
    const bool forward = action.work == Work::forward;
    if (const int target = route_.target_of(place_.pp, action); target >= 0) {
      const Queue queue = is_next(target) ? to_next_queue : to_previous_queue;
      span(Span::message, forward ? 1 : 3, 0, [&] {
        communicate(queue, Collective::send, tokens_ * m_.hidden, 0, activations_, last_compute_, take_pending());
      });
    }
    pending_ = -1;
  }
  void take_input(std::int32_t& input, const Unit& unit) {
    layer_ = static_cast<std::int16_t>(unit.index);
    if (input >= 0) elementwise(Kernel::add, 1, 1, std::exchange(input, -1), take_pending());
    layer_ = -1;
  }

  // --- forward -----------------------------------------------------------------------------------------------

  void forward(const Action& action) {
    std::int32_t input = receive(action);
    span(Span::forward, action.microbatch, action.chunk, [&] {
      const auto units = units_of(action.chunk);
      for (std::size_t k = 0; k < units.size(); ++k) {
        gather_with_prefetch(units, k);
        take_input(input, units[k]);
        forward_unit(units[k]);
      }
      if (!keeps_parameters()) release(units);
    });
    send(action);
  }

  /// A forward and a backward, one module of each in turn, so that each one's communication runs under the other's
  /// compute.
  void woven(const Action& ahead, const Action& back) {
    std::int32_t inputs[2] = {receive(ahead), -1}, pending[2] = {-1, -1};
    begin(back);
    inputs[1] = receive(back);
    span(Span::both, ahead.microbatch, ahead.chunk * 16 + back.chunk, [&] {
      const auto units = units_of(ahead.chunk);
      auto reversed = units_of(back.chunk);
      std::reverse(reversed.begin(), reversed.end());
      const auto one = [&](const Action& action, const std::vector<Unit>& all, std::size_t k) {
        if (k >= all.size()) return;
        const int which = action.work == Work::forward ? 0 : 1;
        begin(action);
        pending_ = pending[which];
        span(which == 0 ? Span::forward_part : Span::backward_part, action.microbatch, action.chunk, [&] {
          gather_with_prefetch(all, k);
          take_input(inputs[which], all[k]);
          if (which == 0) forward_unit(all[k]);
          if (which == 1) backward_unit(all[k]);
          if (which == 1 && reduces_now(action)) reduce_gradients(all[k]);
        });
        pending[which] = take_pending();
      };
      for (std::size_t k = 0; k < std::max(units.size(), reversed.size()); ++k) one(ahead, units, k), one(back, reversed, k);
    });
    for (const Action* action : {&ahead, &back}) {
      begin(*action);
      pending_ = pending[action == &ahead ? 0 : 1];
      send(*action);
    }
  }

  /// After a forward the parameters are given back, but the last module is used again at once.
  void release(const std::vector<Unit>& units) {
    for (const Unit& unit : units)
      if (unit.kind != Unit::output || job_.data_parallel == DataParallel::fsdp_always_reshard)
        gathered_.erase(unit.index);
  }

  void forward_unit(const Unit& unit) {
    layer_ = static_cast<std::int16_t>(unit.index);
    if (unit.kind == Unit::embedding) {
      elementwise(Kernel::embedding, tokens_ * m_.hidden, 3, take_pending());
      leave_parallel_region();
    } else if (unit.kind == Unit::layer) {
      forward_layer();
    } else {
      enter_parallel_region();
      gemm(Kernel::gemm, tokens_, m_.hidden, m_.vocab / job_.mesh.tp, take_pending());
      elementwise(Kernel::loss, tokens_ * m_.vocab / job_.mesh.tp, 2);
    }
    layer_ = -1;
  }

  void small(Kernel kernel, int passes) {
    if (job_.fine_kernels) elementwise(kernel, tokens_ * m_.hidden, passes, take_pending());
  }

  void forward_layer() {
    small(Kernel::norm, 2);
    enter_parallel_region();
    gemm(Kernel::gemm, tokens_, m_.hidden, (m_.hidden + 2 * m_.kv_dim()) / job_.mesh.tp, take_pending());
    small(Kernel::rope, 2);
    attention(Kernel::attention, 1);
    if (job_.fine_kernels) gemm(Kernel::gemm, tokens_, m_.hidden / job_.mesh.tp, m_.hidden);
    leave_parallel_region();
    small(Kernel::add, 3);
    small(Kernel::norm, 2);
    if (m_.experts > 0) {
      forward_experts();
      return;
    }
    enter_parallel_region();
    gemm(Kernel::gemm, tokens_, m_.hidden, 2 * m_.ffn / job_.mesh.tp, take_pending());
    small(Kernel::silu, 3);
    gemm(Kernel::gemm, tokens_, m_.ffn / job_.mesh.tp, m_.hidden);
    leave_parallel_region();
    small(Kernel::add, 3);
  }

  void forward_experts() {
    gemm(Kernel::router, tokens_, m_.hidden, m_.experts, take_pending());
    exchange_tokens();
    gemm(Kernel::gemm, tokens_ * m_.top_k, m_.hidden, 2 * m_.ffn / job_.mesh.tp, take_pending());
    gemm(Kernel::gemm, tokens_ * m_.top_k, m_.ffn / job_.mesh.tp, m_.hidden);
    exchange_tokens();
    elementwise(Kernel::permute, tokens_ * m_.hidden * m_.top_k, 2, take_pending());
  }

  // --- backward ----------------------------------------------------------------------------------------------

  bool reduces_now(const Action& action) const {
    const bool last = reduces_every_microbatch() || action.microbatch == job_.microbatches - 1;
    return (action.work == Work::weight || !action.split) && last;
  }

  void backward(const Action& action) {
    std::int32_t input = receive(action);
    span(Span::backward, action.microbatch, action.chunk, [&] {
      auto units = units_of(action.chunk);
      std::reverse(units.begin(), units.end());
      for (std::size_t k = 0; k < units.size(); ++k) {
        gather_with_prefetch(units, k);
        take_input(input, units[k]);
        backward_unit(units[k]);
        if (reduces_now(action)) reduce_gradients(units[k]);
        if (!keeps_parameters()) gathered_.erase(units[k].index);
      }
    });
    send(action);
  }

  void backward_unit(const Unit& unit) {
    layer_ = static_cast<std::int16_t>(unit.index);
    if (unit.kind == Unit::embedding) {
      if (job_.tensor_parallel == TensorParallel::sequence_parallel) enter_parallel_region();
      elementwise(Kernel::embedding_grad, tokens_ * m_.hidden, 3, take_pending());
    } else if (unit.kind == Unit::layer) {
      if (job_.recompute) {
        phase_ = Phase::recompute;
        span(Span::recompute, unit.index, 0, [&] { forward_layer(); });
        phase_ = Phase::backward;
      }
      backward_layer();
    } else {
      elementwise(Kernel::loss_grad, tokens_ * m_.vocab / job_.mesh.tp, 2, take_pending());
      gemm(Kernel::gemm_input_grad, tokens_, m_.vocab / job_.mesh.tp, m_.hidden);
      weight_gradient(m_.vocab / job_.mesh.tp, m_.hidden);
      leave_parallel_region();
    }
    layer_ = -1;
  }

  void weight_gradient(std::int64_t rows, std::int64_t columns) {
    if (!splits_) gemm(Kernel::gemm_weight_grad, rows, tokens_, columns);
  }

  void backward_layer() {
    const std::int64_t heads = (m_.hidden + 2 * m_.kv_dim()) / job_.mesh.tp, ffn = m_.ffn / job_.mesh.tp;
    enter_parallel_region();
    if (m_.experts > 0) {
      backward_experts();
    } else {
      gemm(Kernel::gemm_input_grad, tokens_, m_.hidden, ffn, take_pending());
      small(Kernel::silu_grad, 4);
      gemm(Kernel::gemm_input_grad, tokens_, 2 * ffn, m_.hidden);
      weight_gradient(3 * ffn, m_.hidden);
      leave_parallel_region();
    }
    small(Kernel::norm_grad, 3);
    enter_parallel_region();
    if (job_.fine_kernels) gemm(Kernel::gemm_input_grad, tokens_, m_.hidden, m_.hidden / job_.mesh.tp, take_pending());
    attention(Kernel::attention_grad, 2.5);
    small(Kernel::rope, 2);
    gemm(Kernel::gemm_input_grad, tokens_, heads, m_.hidden, take_pending());
    weight_gradient(heads, m_.hidden);
    leave_parallel_region();
    small(Kernel::norm_grad, 3);
  }

  void backward_experts() {
    elementwise(Kernel::permute, tokens_ * m_.hidden * m_.top_k, 2, take_pending());
    exchange_tokens();
    gemm(Kernel::gemm_input_grad, tokens_ * m_.top_k, m_.hidden, 3 * m_.ffn / job_.mesh.tp, take_pending());
    if (!splits_)
      gemm(Kernel::gemm_weight_grad, 3 * m_.ffn / job_.mesh.tp, tokens_ * m_.top_k, m_.hidden);
    exchange_tokens();
    leave_parallel_region();
  }

  void weight(const Action& action) {
    span(Span::weight, action.microbatch, action.chunk, [&] {
      for (const Unit& unit : units_of(action.chunk)) {
        layer_ = static_cast<std::int16_t>(unit.index);
        const std::int64_t parameters = elements_of(unit);
        if (unit.kind != Unit::embedding)
          gemm(Kernel::gemm_weight_grad, tokens_, parameters / m_.hidden, m_.hidden, take_pending());
        if (reduces_now(action)) reduce_gradients(unit);
        layer_ = -1;
      }
    });
  }

  // --- around the micro-batches ------------------------------------------------------------------------------

  void finish_step() {
    phase_ = Phase::optimizer;
    pending_ = -1;
    std::int64_t own = 0;
    std::vector<Unit> units;
    for (int chunk = 0; chunk < job_.virtual_stages() / job_.mesh.pp; ++chunk)
      for (const Unit& unit : units_of(chunk)) units.push_back(unit), own += elements_of(unit) / job_.mesh.sharded();
    const auto norm_of_gradients = [&] {
      span(Span::grad_norm, 0, 0, [&] {
        elementwise(Kernel::norm_reduce, own, 2, last_reduction_);
        std::int32_t norm = last_compute_;
        for (const Queue queue : {fsdp_queue, tp_queue, pp_queue})
          if (channels_[queue] >= 0)
            norm = communicate(queue, Collective::all_reduce, 1, 1, ElementType::float32, norm);
        program_.waited_for = norm;
        elementwise(Kernel::clip, own, 4, norm);
      });
    };
    // Megatron's optimizer clips within its step, others' are called after it.
    const bool within = job_.layout == Layout::megatron;
    if (!within) norm_of_gradients();
    span(Span::optimizer, 0, 0, [&] {
      if (within) norm_of_gradients();
      const int pieces = job_.fine_kernels ? 8 : 2;
      for (int i = 0; i < pieces; ++i) elementwise(Kernel::adam, own / pieces, 14);
      if (sharded() && job_.data_parallel == DataParallel::distributed_optimizer)
        for (const Unit& unit : units)
          communicate(fsdp_queue, Collective::all_gather, elements_of(unit) / job_.mesh.sharded(), elements_of(unit),
                      ElementType::bfloat16, last_compute_);
    });
  }

  const Route route_;
  std::map<std::int64_t, std::int32_t> gathered_;  // unit -> its all-gather
  std::map<int, std::pair<std::vector<Action>, std::size_t>> incoming_;  // by place: its messages, the next of them
  std::map<std::tuple<Work, int, int>, std::int32_t> received_;          // by work, micro-batch and chunk
  std::int32_t last_reduction_ = -1;
  bool splits_ = false;  // this backward leaves its weight gradients for later
};

}  // namespace

Program make_program(const Job& job, const Topology& topology, int rank, int step, std::vector<Meeting>& meetings) {
  return ProgramBuilder(job, topology, rank, step, meetings).build();
}

}  // namespace synth
