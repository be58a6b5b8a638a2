#include "kineto_cpu.hpp"

#include <algorithm>
#include <array>

namespace synth {
namespace {

constexpr std::array<const char*, 10> small_ops{
    "aten::view",    "aten::as_strided", "aten::empty", "aten::transpose",     "aten::t",
    "aten::reshape", "aten::detach",     "aten::slice", "aten::empty_strided", "aten::unsqueeze"};
constexpr std::array<const char*, 10> python_frames{
    "torch/nn/modules/module.py(1773): _wrapped_call_impl",
    "torch/nn/modules/module.py(1784): _call_impl",
    "nn.Module: Linear_3",
    "torch/nn/modules/linear.py(124): forward",
    "torchtitan/models/llama3/model.py(214): forward",
    "<built-in method linear of type object at 0x7f2a31c5e4a0>",
    "torch/autograd/function.py(305): apply",
    "torch/distributed/fsdp/_fully_shard/_fsdp_state.py(62): fsdp_hook_wrapper",
    "torch/_dynamo/eval_frame.py(1005): _fn",
    "<built-in function len>"};
constexpr std::array<const char*, 5> runtime_calls{
    "cudaStreamIsCapturing", "cudaEventQuery", "cudaEventRecordWithFlags", "cudaStreamWaitEvent", "cudaEventRecord"};

}  // namespace

bool on_autograd_thread(const Job& job, const Op& op) {
  const bool message = op.instance >= 0 && (op.collective == Collective::send || op.collective == Collective::recv);
  if (message && job.layout == Layout::megatron) return false;
  return op.phase == Phase::backward || op.phase == Phase::recompute || op.phase == Phase::weight;
}

int KinetoCpu::thread_of(const Op& op) const {
  return on_autograd_thread(job_, op) ? events_.autograd_thread() : events_.process();
}

std::string KinetoCpu::op_args(const Op& op, const OpPlace& place, int level, bool shapes) const {
  const std::int64_t sequence = 1000 + (op.microbatch + 1) * 1000 + op.layer + 3;
  std::string text =
      "\"External id\": " + std::to_string(KinetoEvents::external_id(place, level)) + ",\"Record function id\": 0, ";
  // A forward counts its operators. In a backward only the node itself carries the number of its forward; what is
  // computed again counts like a forward.
  const bool grads = op.phase == Phase::forward || op.phase == Phase::recompute;
  if (op.microbatch >= 0 && (grads || (level == 1 && op.instance < 0)))
    text += std::string("\"Sequence number\": ") + std::to_string(sequence) +
            ", \"Fwd thread id\": " + (grads ? "0" : "1") + ", ";
  if (shapes) {
    const std::string dims = list_text(std::vector<std::int64_t>{job_.model.seq, job_.model.hidden});
    text +=
        "\"Concrete Inputs\": [\"\", \"\"], \"Input type\": [\"c10::BFloat16\", \"c10::BFloat16\"], \"Input Strides\": "
        "[[" +
        std::to_string(job_.model.hidden) + ", 1], [1, " + std::to_string(job_.model.hidden) + "]], \"Input Dims\": [" +
        dims + ", " + dims + "], ";
  }
  return text + "\"Ev Idx\": " + std::to_string(place.number * 4 + level);
}

void KinetoCpu::checkpoint_node(const std::vector<Op>& ops, std::size_t i, const OpPlace& place) {
  const auto same_layer = [&](std::size_t k) {
    return k < ops.size() && ops[k].layer == ops[i].layer && ops[k].microbatch == ops[i].microbatch;
  };
  if (ops[i].phase != Phase::recompute || (i > 0 && same_layer(i - 1) && ops[i - 1].phase == Phase::recompute)) return;
  // Reentrant checkpoints (Megatron) hold the layer's backward too, others compute within its first node.
  const bool reentrant = job_.layout == Layout::megatron;
  const auto belongs = [&](std::size_t k) {
    return same_layer(k) && (ops[k].phase == Phase::recompute || (reentrant && ops[k].phase == Phase::backward));
  };
  std::size_t last = i;
  while (belongs(last + 1)) ++last;
  const std::int64_t start = ops[i].cpu_start + place.shift_ns, end = ops[last].cpu_end + place.shift_ns;
  const std::string function = reentrant ? "CheckpointFunctionBackward" : "FusedRmsNormBackward0";
  Op node = ops[i];
  node.phase = Phase::backward;
  const std::string args = op_args(node, place, 1, false);
  events_.slice("cpu_op", "autograd::engine::evaluate_function: " + function, thread_of(ops[i]), start, end, args);
  events_.slice("cpu_op", function, thread_of(ops[i]), start, end, args);
}

/// Of a backward always a node of autograd, also where a kernel serves both directions: aten::mul is of MulBackward0.
std::string KinetoCpu::outer_name(const Op& op) {
  const std::string name = name_of(op.kernel).outer_op, prefix = "aten::";
  const bool backward = op.phase == Phase::backward || op.phase == Phase::weight;
  if (!backward || name.compare(0, prefix.size(), prefix) != 0) return name;
  std::string function = name.substr(prefix.size()) + "Backward0";
  function[0] = static_cast<char>(function[0] - 'a' + 'A');
  return "autograd::engine::evaluate_function: " + function;
}

void KinetoCpu::around_launch(const Op& op, const OpPlace& place) {
  if (op.instance >= 0) {
    communication_ops(op, place);
  } else {
    const KernelName& name = name_of(op.kernel);
    const int thread = thread_of(op);
    const std::int64_t start = op.cpu_start + place.shift_ns, end = op.cpu_end + place.shift_ns;
    const std::int64_t edge =
        std::max<std::int64_t>(1, (op.launch - op.cpu_start) / 8) / job_.time_grain_ns() * job_.time_grain_ns();
    events_.slice("cpu_op", outer_name(op), thread, start, end, op_args(op, place, 1, false));
    events_.slice("cpu_op", name.inner_op, thread, start + edge, end - edge, op_args(op, place, 2, true));
  }
  noise(op, place);
}

void KinetoCpu::communication_ops(const Op& op, const OpPlace& place) {
  const CollectiveName& name = name_of(op.collective);
  const Instance& instance = run_.instances[static_cast<std::size_t>(op.instance)];
  const Channel& channel = topology_.channels[static_cast<std::size_t>(instance.channel)];
  const int thread = thread_of(op);
  const std::int64_t start = op.cpu_start + place.shift_ns, end = op.cpu_end + place.shift_ns;
  const std::int64_t edge =
      std::max<std::int64_t>(1, (op.launch - op.cpu_start) / 8) / job_.time_grain_ns() * job_.time_grain_ns();
  events_.slice("cpu_op", name.c10d, thread, start, end, op_args(op, place, 1, false));
  std::string args = op_args(op, place, 2, false);
  args += events_.communication_args(op);
  if (job_.style != Style::old_names) {
    const Group& group = topology_.groups[static_cast<std::size_t>(channel.group)];
    args += ", \"Global rank start\": " + std::to_string(group.members.front()) +
            ", \"Global rank stride\": " + std::to_string(group.members[1] - group.members[0]);
  }
  events_.slice("cpu_op", "record_param_comms", thread, start + edge, end - edge, args);
  std::string label = name.annotation;
  if (channel.source >= 0 && job_.batched_messages) label = "nccl:coalesced";
  if (channel.source >= 0 && !job_.batched_messages) {
    const std::vector<int>& members = topology_.groups[static_cast<std::size_t>(channel.group)].members;
    const auto position = [&](int rank) {
      return std::to_string(std::find(members.begin(), members.end(), rank) - members.begin());
    };
    const bool sends = op.collective == Collective::send;
    label.append(" ").append(position(sends ? channel.source : channel.destination));
    label.append(sends ? "->" : "<-").append(position(sends ? channel.destination : channel.source));
  }
  events_.slice("user_annotation", label, thread, start + 2 * edge, end - 2 * edge, op_args(op, place, 3, false));
}

void KinetoCpu::noise(const Op& op, const OpPlace& place) {
  noise_owed_ += noise_per_op_;
  const auto count = static_cast<std::int64_t>(noise_owed_);
  noise_owed_ -= static_cast<double>(count);
  if (count == 0) return;
  const std::int64_t grain = job_.time_grain_ns();
  const std::int64_t room = (op.launch - op.cpu_start) * 3 / 4, first = op.cpu_start + (op.launch - op.cpu_start) / 4;
  constexpr std::int64_t nest = 4;  // frames of a group end together
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at = [&](std::int64_t k) { return (first + room * k / count) / grain * grain + place.shift_ns; };
    const std::int64_t end = std::min(count, (i / nest + 1) * nest);
    const auto chance = draw(job_.seed, 61, rank_, place.number, i);
    noise_event(chance, at(i), std::max(at(end), at(i) + grain), thread_of(op), place, static_cast<int>(i));
  }
}

/// Shares of a real trace with stacks: about half Python frames, the rest operators and runtime calls.
void KinetoCpu::noise_event(std::uint64_t chance, std::int64_t start, std::int64_t end, int thread,
                            const OpPlace& place, int which) {
  const auto kind = chance % 100;
  const auto pick = chance / 100;
  const std::int64_t number = place.number * 64 + which;
  if (kind < 48) {
    events_.slice("python_function", python_frames[pick % python_frames.size()], thread, start, end,
                  "\"Python parent id\": " + std::to_string(number - 1) + ", \"Python id\": " + std::to_string(number) +
                      ", \"Ev Idx\": " + std::to_string(number));
  } else if (kind < 72) {
    events_.slice(
        "cpu_op", small_ops[pick % small_ops.size()], thread, start, end,
        "\"External id\": " + std::to_string(100'000'000 + number) +
            ",\"Record function id\": 0, \"Concrete Inputs\": [\"\", \"\", \"\"], \"Input type\": [\"c10::BFloat16\", "
            "\"ScalarList\", \"ScalarList\"], \"Input Strides\": [[" +
            std::to_string(job_.model.hidden) + ", 1], [], []], \"Input Dims\": [[" + std::to_string(job_.model.seq) +
            ", " + std::to_string(job_.model.hidden) + "], [], []], \"Ev Idx\": " + std::to_string(number));
  } else {
    const std::int64_t correlation = KinetoEvents::correlation(place) + 1 + which % 63;
    events_.slice("cuda_runtime", runtime_calls[pick % runtime_calls.size()], thread, start, end,
                  "\"cbid\": 138, \"correlation\": " + std::to_string(correlation));
    events_.out << "  {\n    \"ph\": \"f\", \"id\": " << correlation << ", \"pid\": " << events_.process()
                << ", \"tid\": " << thread << ", \"ts\": " << events_.time(start)
                << ",\n    \"cat\": \"ac2g\", \"name\": \"ac2g\", \"bp\": \"e\"\n  },\n";
  }
}

std::string KinetoCpu::span_name(const Span& span, bool prefill) const {
  const bool megatron = job_.layout == Layout::megatron;
  const auto module = [&] {
    return span.index >= 0 ? "layers." + std::to_string(span.index)
                           : std::string(span.index == -1 ? "tok_embeddings" : "norm, output");
  };
  switch (span.kind) {
    case Span::forward:
      if (job_.serves()) {
        const std::string batch = std::to_string(job_.model.local_batch);
        return prefill ? "execute_context_" + batch + "(" + std::to_string(job_.tokens_per_pass(job_.first_step)) +
                             ")_generation_0(0)"
                       : std::string("execute_context_0(0)_generation_") + batch + "(" + batch + ")";
      }
      return megatron ? "megatron/core/pipeline_parallel/schedules.py(403): forward_step"
                      : "Forward " + std::to_string(span.index);
    case Span::backward:
      return megatron ? "megatron/core/pipeline_parallel/schedules.py(517): backward_step"
                      : "Backward " + std::to_string(span.index);
    case Span::recompute:
      return megatron ? "megatron/core/transformer/transformer_block.py(402): custom_forward"
                      : "torch/utils/checkpoint.py(1523): recompute_fn";
    case Span::weight: return "Weight " + std::to_string(span.index);
    case Span::both: return "megatron/core/pipeline_parallel/combined_1f1b.py(245): combined_forward_backward_step";
    case Span::forward_part: return "megatron/core/pipeline_parallel/utils.py(182): forward";
    case Span::backward_part: return "megatron/core/pipeline_parallel/utils.py(232): backward";
    case Span::optimizer:
      return megatron ? "megatron/core/optimizer/optimizer.py(640): step"
                      : "Optimizer.step#AdamW.step";
    case Span::load:
      return megatron ? "megatron/training/utils.py(471): get_batch_on_this_tp_rank"
                      : "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";
    case Span::gather: return "FSDP::all_gather (" + module() + ")";
    case Span::grad_norm: return "megatron/core/optimizer/clip_grads.py(57): get_grad_norm_fp32";
    case Span::message: {
      constexpr std::array<const char*, 4> calls{"recv_forward", "send_forward", "recv_backward", "send_backward"};
      return std::string("megatron/core/pipeline_parallel/p2p_communication.py(512): ") +
             calls[static_cast<std::size_t>(span.index)];
    }
    case Span::reduce: break;
  }
  if (megatron) return "megatron/core/distributed/param_and_grad_buffer.py(301): start_grad_sync";
  return "FSDP::post_backward_reduce (" + module() + ")";
}

void KinetoCpu::annotations(const RankStep& step, const OpPlace& place, std::int64_t step_number) {
  const RankRun& own = run_.ranks[static_cast<std::size_t>(rank_)];
  events_.slice("user_annotation", "ProfilerStep#" + std::to_string(step_number), events_.process(),
                step.cpu_start + place.shift_ns, step.cpu_end + place.shift_ns,
                "\"External id\": " + std::to_string(step_number % 16) + ",\"Record function id\": 0, \"Ev Idx\": 0");
  for (std::size_t s = step.first_span; s < step.end_span; ++s) {
    const Span& span = own.spans[s];
    const Op& first = own.ops[step.first_op + static_cast<std::size_t>(span.first_op)];
    const Op& last = own.ops[step.first_op + static_cast<std::size_t>(span.last_op)];
    const bool fsdp = span.kind == Span::gather || span.kind == Span::reduce;
    const bool megatron = job_.layout == Layout::megatron;
    const bool call = span.kind == Span::grad_norm || span.kind == Span::message || span.kind == Span::both ||
                      span.kind == Span::forward_part || span.kind == Span::backward_part;
    if (megatron ? span.kind == Span::gather : call) continue;
    const bool frame = span.kind == Span::recompute || (megatron && span.kind != Span::weight);
    const bool inner =
        fsdp || span.kind == Span::recompute || span.kind == Span::grad_norm || span.kind == Span::message;
    // The call that starts a backward waits on the main thread while the autograd thread works.
    const int thread = inner ? thread_of(first) : events_.process();
    const std::int64_t edge = inner ? 0 : job_.time_grain_ns();
    events_.slice(frame ? "python_function" : "user_annotation", span_name(span, step.first_op == 0), thread,
                  first.cpu_start + place.shift_ns - edge, last.cpu_end + place.shift_ns + edge,
                  frame ? "\"Python parent id\": 1, \"Python id\": " + std::to_string(2 + s) +
                              ", \"Ev Idx\": " + std::to_string(s)
                        : "\"External id\": " + std::to_string(200'000'000 + static_cast<std::int64_t>(s)) +
                              ",\"Record function id\": 0, \"Ev Idx\": " + std::to_string(s));
    if (megatron && span.kind == Span::forward) inner_frames(step, span, place);
  }
}

/// What stands between a forward and its operators, under names that mean something else elsewhere.
void KinetoCpu::inner_frames(const RankStep& step, const Span& span, const OpPlace& place) {
  const Op* const ops = run_.ranks[static_cast<std::size_t>(rank_)].ops.data() + step.first_op;
  const auto frame = [&](const char* name, std::int32_t from, std::int32_t to) {
    events_.slice("python_function", name, events_.process(), ops[from].cpu_start + place.shift_ns,
                  ops[to].cpu_end + place.shift_ns, "\"Python parent id\": 2, \"Python id\": 3, \"Ev Idx\": 0");
  };
  frame("pretrain_gpt.py(160): forward_step", span.first_op, span.last_op);
  std::int32_t first = -1, last = -1;
  for (std::int32_t i = span.first_op; i <= span.last_op; ++i) {
    if (ops[i].layer >= 0) last = i;
    if (ops[i].layer >= 0 && first < 0) first = i;
    if (ops[i].kernel == Kernel::loss) frame("megatron/core/optimizer/optimizer.py(225): scale_loss", i, i);
  }
  if (job_.recompute && first >= 0)
    frame("megatron/core/transformer/transformer_block.py(402): custom_forward", first, last);
}

}  // namespace synth
