#include "options.hpp"

#include <map>
#include <stdexcept>

namespace synth {
namespace {

template <class Value>
Value pick(const std::string& what, const std::string& name, const std::map<std::string, Value>& choices) {
  const auto at = choices.find(name);
  if (at != choices.end()) return at->second;
  std::string known;
  for (const auto& [choice, value] : choices) known += " " + choice;
  throw std::invalid_argument("unknown " + what + " '" + name + "'; known:" + known);
}

void set_mesh(Mesh& mesh, std::string text) {
  mesh = {};
  const std::map<std::string, int Mesh::*> parts{{"pp", &Mesh::pp},
                                                 {"dp_replicate", &Mesh::dp_replicate},
                                                 {"dp_shard", &Mesh::dp_shard},
                                                 {"cp", &Mesh::cp},
                                                 {"tp", &Mesh::tp},
                                                 {"ep", &Mesh::ep}};
  while (!text.empty()) {
    const auto comma = text.find(',');
    const std::string pair = text.substr(0, comma);
    text = comma == std::string::npos ? "" : text.substr(comma + 1);
    const auto equals = pair.find('=');
    if (equals == std::string::npos) throw std::invalid_argument("--mesh takes NAME=SIZE,..., not '" + pair + "'");
    mesh.*pick("mesh dimension", pair.substr(0, equals), parts) = std::stoi(pair.substr(equals + 1));
  }
}

template <class From, class To>
void over(const std::optional<From>& value, To& target) {
  if (value) target = static_cast<To>(*value);
}

}  // namespace

void describe_options(CLI::App& app, Options& o) {
  std::string presets;
  for (const auto& name : preset_names()) presets += (presets.empty() ? "" : ", ") + name;
  app.description(
      "Writes the profiler traces of a simulated training job, and truth.json: what must be found in them.");
  app.footer("Faults (--fault KIND:key=value,...):\n" + describe_faults() +
             "\nExamples:\n  ccl-synth --preset tiny -o demo --seed 1\n"
             "  ccl-synth --big trace.json --gb 5\n"
             "  ccl-synth -o t --mesh pp=4,dp_shard=2 --layers 8 --microbatches 8 --schedule zb --fault "
             "slow_rank:rank=3,factor=1.5,from=6\n");
  app.add_option("--preset", o.preset, "starting point: " + presets)->capture_default_str()->group("Job");
  app.add_option("--seed", o.seed, "every random number follows from it")->capture_default_str()->group("Job");
  app.add_option("--mesh", o.mesh, "pp=..,dp_replicate=..,dp_shard=..,cp=..,tp=..,ep=.. (those left out are 1)")
      ->group("Job");
  app.add_option("--steps", o.steps, "steps in the traces")->group("Job");
  app.add_option("--first-step", o.first_step, "number of the first ProfilerStep")->group("Job");
  app.add_option("--steps-per-iteration", o.steps_per_iteration, "steps per iteration_N folder (0: all)")->group("Job");
  app.add_option("--layers", o.layers, "layers of the model")->group("Job");
  app.add_option("--hidden", o.hidden)->group("Job");
  app.add_option("--ffn", o.ffn)->group("Job");
  app.add_option("--heads", o.heads)->group("Job");
  app.add_option("--kv-heads", o.kv_heads)->group("Job");
  app.add_option("--vocab", o.vocab)->group("Job");
  app.add_option("--seq", o.seq, "sequence length")->group("Job");
  app.add_option("--local-batch", o.local_batch, "sequences per micro-batch and data-parallel rank")->group("Job");
  app.add_option("--experts", o.experts, "experts per layer, 0: dense")->group("Job");
  app.add_option("--microbatches", o.microbatches)->group("Job");
  app.add_option("--schedule", o.schedule, "gpipe, 1f1b, interleaved, zb, combined, dualpipev")->group("Job");
  app.add_option("--chunks", o.chunks, "virtual stages per rank (interleaved, combined)")->group("Job");
  app.add_option("--tensor-parallel", o.tensor_parallel, "sequence or allreduce")->group("Job");
  app.add_option("--data-parallel", o.data_parallel, "fsdp, fsdp-always (reshard), distopt (Megatron)")->group("Job");
  app.add_flag("--recompute", o.recompute, "recompute activations in the backward")->group("Job");
  app.add_flag("--batched-messages", o.batched_messages, "sends and receives whose annotation names no peer")
      ->group("Job");
  app.add_flag("--fine", o.fine, "about ten kernels per half layer")->group("Job");
  app.add_flag("--coarse", o.coarse, "two or three kernels per half layer")->group("Job");
  app.add_option("--ranks-per-host", o.ranks_per_host)->group("Machine");
  app.add_option("--clock-offset-us", o.clock_offset_us, "largest planted offset of a host's clock")->group("Machine");
  app.add_option("--clock-drift-ppm", o.clock_drift_ppm, "largest planted drift")->group("Machine");
  app.add_option("--end-skew-us", o.end_skew_us, "members leave a collective within this time")->group("Machine");
  app.add_option("--jitter", o.jitter_ratio, "of compute times, as a ratio")->group("Machine");
  app.add_option("--fault", o.faults, "plant a fault, see below; may be repeated")->group("Machine");
  app.add_flag("--no-faults", o.no_faults, "drop the faults of the preset")->group("Machine");
  auto* folder = app.add_option_group("Output", "one of these is needed");
  folder->add_option("-o,--output", o.output, "folder to write");
  folder->add_option("--big", o.big_file,
                     "instead: one large trace file, rank 0 of the preset, without truth (preset: node)");
  folder->add_option("--big-snapshot", o.big_snapshot, "instead: one large memory snapshot");
  folder->require_option(1);
  app.add_flag("--execution-traces", o.execution_traces, "PyTorch's execution trace of every rank beside its trace")
      ->group("Files");
  app.add_flag("--memory-events", o.memory_events, "[memory] instants in the traces, as profile_memory writes them")
      ->group("Files");
  app.add_flag("--memory", o.memory, "a memory snapshot of every rank")->group("Files");
  app.add_option("--memory-ring", o.memory_ring, "entries its history holds")->group("Files");
  app.add_option("--memory-oom", o.memory_oom, "the rank that runs out of memory")->group("Files");
  app.add_option("--gb", o.big_gigabytes, "bytes in the --big file or snapshot, in GB")
      ->capture_default_str()
      ->group("Files");
  app.add_option("--truth", o.truth, "where truth.json goes (default: in the folder)")->group("Files");
  app.add_option("--mb-per-rank", o.mb_per_rank, "text per rank and repeat, filled up with CPU events")->group("Files");
  app.add_option("--repeat", o.repeat, "write the simulated steps this many times, shifted")->group("Files");
  app.add_flag("--gz", o.gzip, "gzip the traces")->group("Files");
  app.add_flag("--plain", o.plain, "do not, whatever the preset says")->group("Files");
  app.add_option("--style", o.style, "standard, seq, old, rocm, inference")->group("Files");
  app.add_option("--layout", o.layout, "torchtitan, megatron, ccl-bench, flat")->group("Files");
  app.add_option("--format", o.format, "kineto, nsys")->group("Files");
}

void resolve(Options& o) {
  if (!o.big_file.empty() && o.preset == "tiny") o.preset = "node";
  Job job = preset(o.preset);
  job.seed = o.seed;
  job.output = o.output;
  if (o.no_faults) job.faults.clear();
  if (!o.mesh.empty()) set_mesh(job.mesh, o.mesh);
  over(o.steps, job.steps), over(o.first_step, job.first_step), over(o.steps_per_iteration, job.steps_per_iteration);
  over(o.layers, job.model.layers), over(o.hidden, job.model.hidden), over(o.ffn, job.model.ffn),
      over(o.heads, job.model.heads);
  over(o.kv_heads, job.model.kv_heads), over(o.vocab, job.model.vocab), over(o.seq, job.model.seq);
  over(o.local_batch, job.model.local_batch), over(o.experts, job.model.experts);
  over(o.microbatches, job.microbatches), over(o.chunks, job.chunks), over(o.ranks_per_host, job.ranks_per_host);
  over(o.mb_per_rank, job.megabytes_per_rank), over(o.repeat, job.repeat), over(o.jitter_ratio, job.jitter_ratio);
  if (o.clock_offset_us) job.clock_offset_ns = static_cast<std::int64_t>(*o.clock_offset_us * 1000);
  if (o.clock_drift_ppm) job.clock_drift_ppb = static_cast<std::int64_t>(*o.clock_drift_ppm * 1000);
  if (o.end_skew_us) job.end_skew_ns = static_cast<std::int64_t>(*o.end_skew_us * 1000);
  over(o.memory_ring, job.memory_ring), over(o.memory_oom, job.memory_oom_rank);
  job.memory = o.memory, job.execution_traces = o.execution_traces, job.memory_events = o.memory_events;
  job.recompute |= o.recompute;
  job.batched_messages |= o.batched_messages;
  job.fine_kernels = (job.fine_kernels || o.fine) && !o.coarse;
  job.gzip = (job.gzip || o.gzip) && !o.plain;
  if (!o.schedule.empty())
    job.schedule = pick<Schedule>("schedule", o.schedule,
                                  {{"gpipe", Schedule::gpipe},
                                   {"1f1b", Schedule::one_f_one_b},
                                   {"interleaved", Schedule::interleaved},
                                   {"zb", Schedule::zero_bubble},
                                   {"combined", Schedule::combined},
                                   {"dualpipev", Schedule::dualpipev}});
  if (!o.tensor_parallel.empty())
    job.tensor_parallel = pick<TensorParallel>(
        "tensor parallelism", o.tensor_parallel,
        {{"sequence", TensorParallel::sequence_parallel}, {"allreduce", TensorParallel::all_reduce}});
  if (!o.data_parallel.empty())
    job.data_parallel = pick<DataParallel>("data parallelism", o.data_parallel,
                                           {{"fsdp", DataParallel::fsdp},
                                            {"fsdp-always", DataParallel::fsdp_always_reshard},
                                            {"distopt", DataParallel::distributed_optimizer}});
  if (!o.style.empty())
    job.style = pick<Style>("style", o.style,
                            {{"standard", Style::standard},
                             {"seq", Style::sequence},
                             {"old", Style::old_names},
                             {"rocm", Style::rocm},
                             {"inference", Style::inference}});
  if (!o.layout.empty())
    job.layout = pick<Layout>("layout", o.layout,
                              {{"torchtitan", Layout::torchtitan},
                               {"megatron", Layout::megatron},
                               {"ccl-bench", Layout::ccl_bench},
                               {"flat", Layout::flat}});
  if (!o.format.empty())
    job.format = pick<Format>("format", o.format, {{"kineto", Format::kineto}, {"nsys", Format::nsys}});
  for (const std::string& text : o.faults) job.faults.push_back(parse_fault(text));
  check(job);
  o.job = std::move(job);
}

}  // namespace synth
