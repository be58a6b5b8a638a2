#include "discover/companion.hpp"

#include <algorithm>
#include <initializer_list>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace ccl {
namespace {

using Order = std::initializer_list<const std::optional<Companion>*>;

void warn(Problems& problems, const Companions& all, const std::string& why) {
  Problem problem;
  problem.code = Code::card_disagrees;
  if (all.card) problem.file = all.card->workload.card_file;
  problem.detail = why;
  problems.add(std::move(problem));
}

/// Of Megatron arguments that cannot be, or that another file contradicts.
void warn_of_arguments(Problems& problems, const Companions& all, const std::string& why) {
  Problem problem;
  problem.code = Code::config_file_invalid;
  problem.file = all.megatron_arguments->shown;
  problem.detail = why;
  problems.add(std::move(problem));
}

/// A number of parameters, all of its digits.
std::string count_text(double value) { return std::to_string(static_cast<std::int64_t>(value)); }

template <class T>
void take_first(Workload& to, Sourced<T> Workload::*field, Order order) {
  for (const std::optional<Companion>* companion : order)
    if (*companion && !(to.*field)) to.*field = (*companion)->workload.*field;
}

/// The mesh with its open dimension filled up to the world size; unknown if that does not divide.
Mesh complete(const Companion& companion, std::int64_t world) {
  Mesh mesh = companion.workload.mesh;
  if (!mesh.known() || companion.rest == RestDimension::none) return mesh;
  const std::int64_t others = mesh.world();  // the open dimension is 1 so far
  if (world <= 0 || world % others != 0 || world / others > 1'000'000) return Mesh();
  (companion.rest == RestDimension::dp_shard ? mesh.dp_shard : mesh.dp_replicate) =
      static_cast<std::int32_t>(world / others);
  return mesh;
}

std::string text_of(const Mesh& m) {
  return "pp " + std::to_string(m.pp) + ", dp " + std::to_string(m.dp_replicate) + "x" + std::to_string(m.dp_shard) +
         ", cp " + std::to_string(m.cp) + ", tp " + std::to_string(m.tp) + ", ep " + std::to_string(m.ep);
}

bool same_sizes(const Mesh& a, const Mesh& b) {
  return a.pp == b.pp && a.dp_replicate * a.dp_shard == b.dp_replicate * b.dp_shard && a.cp == b.cp && a.tp == b.tp &&
         a.ep == b.ep;
}

/// The arguments leave the data-parallel size open.
void compare_arguments_mesh(const Companions& all, const Mesh& used, std::int64_t world, Problems& problems) {
  if (!all.megatron_arguments || !all.megatron_arguments->workload.mesh.known()) return;
  const Mesh& said = all.megatron_arguments->workload.mesh;
  const std::string sizes = "the arguments say pp " + std::to_string(said.pp) + ", cp " + std::to_string(said.cp) + ", tp " +
                            std::to_string(said.tp) + ", ep " + std::to_string(said.ep);
  const bool same = used.pp == said.pp && used.cp == said.cp && used.tp == said.tp && used.ep == said.ep;
  if (used.known() && !same)
    warn_of_arguments(problems, all, sizes + ", the " + used.source + " file " + text_of(used) + " (used)");
  else if (!used.known() && world > 0)
    warn_of_arguments(problems, all, sizes + ", which does not divide " + std::to_string(world) + " ranks, and is not used");
}

/// The first in the order of belief that makes as many ranks as the traces say; the first of all if none does.
Mesh believed_mesh(const Companions& all, std::int64_t world) {
  Mesh first;
  for (const auto* companion : {&all.megatron_groups, &all.toml, &all.megatron_arguments, &all.card}) {
    if (!*companion) continue;
    const Mesh mesh = complete(**companion, world);
    if (mesh.known() && all.world_size > 0 && mesh.world() == all.world_size) return mesh;
    if (!first.known()) first = mesh;
  }
  return first;
}

void resolve_mesh(const Companions& all, Workload& out, Problems& problems) {
  std::int64_t world = all.world_size;
  if (world <= 0 && all.card) world = all.card->workload.gpus_total.value.value_or(-1);
  out.mesh = believed_mesh(all, world);
  compare_arguments_mesh(all, out.mesh, world, problems);
  if (!all.card) return;
  const Mesh card = complete(*all.card, world);
  const auto compare = [&](const Mesh& other) {
    if (!card.known() || !other.known() || same_sizes(card, other)) return;
    const auto used = [&](const Mesh& mesh) { return same_sizes(mesh, out.mesh) ? " (used)" : ""; };
    warn(problems, all,
         "the card says " + text_of(card) + used(card) + ", the " + other.source + " file " + text_of(other) + used(other));
  };
  compare(out.mesh);
  for (const auto* other : {&all.megatron_groups, &all.toml})  // the arguments are compared above
    if (*other && out.mesh.source == "card") compare(complete(**other, world));
}

/// What the card says of the model's size contradicts itself.
void check_parameters(const Companions& all, const Workload& w, Problems& problems) {
  if (const std::string why = contradiction_of_parameters(w); !why.empty()) warn(problems, all, why);
  const bool dense = !w.experts || *w.experts.value <= 1;
  if (dense && w.parameters && w.parameters_active && *w.parameters_active.value < *w.parameters.value)
    warn(problems, all, "num_params_active " + count_text(*w.parameters_active.value) + " is less than num_params " +
                            count_text(*w.parameters.value) + ", and it counts no experts");
}

/// Two numbers of one thing lead to answers that differ by their ratio: both are told.
void compare_numbers(const Companions& all, const Workload& used, Problems& problems) {
  const std::pair<const char*, Sourced<std::int64_t> Workload::*> numbers[] = {
      {"seq_len", &Workload::seq_len},         {"micro-batch size", &Workload::microbatch_size},
      {"num_layers", &Workload::layers},       {"num_heads", &Workload::heads},
      {"num_kv_heads", &Workload::kv_heads},   {"head_dim", &Workload::head_dim},
      {"hidden_size", &Workload::hidden_size}, {"num_experts", &Workload::experts},
      {"num_experts_per_tok", &Workload::experts_per_token}, {"vocab_size", &Workload::vocab_size}};
  for (const auto& [name, field] : numbers) {
    const Sourced<std::int64_t> card = all.card ? all.card->workload.*field : Sourced<std::int64_t>();
    if (!card && all.toml && all.megatron_arguments) {
      const Sourced<std::int64_t>&toml = all.toml->workload.*field, &said = all.megatron_arguments->workload.*field;
      const auto text = [&](const Sourced<std::int64_t>& one) {
        return std::to_string(*one.value) + ((used.*field).value == one.value ? " (used)" : "");
      };
      if (toml && said && toml.value != said.value)
        warn_of_arguments(problems, all, "the arguments say " + std::string(name) + " " + text(said) + ", toml " + text(toml));
    }
    for (const auto* other : {&all.megatron_groups, &all.toml, &all.megatron_arguments}) {
      if (!card || !*other) continue;
      const Sourced<std::int64_t>& said = (*other)->workload.*field;
      if (!said || said.value == card.value) continue;
      const bool card_is_used = (used.*field).source == card.source;
      warn(problems, all,
           "the card says " + std::string(name) + " " + std::to_string(*card.value) + (card_is_used ? " (used)" : "") + ", " +
               said.source + " " + std::to_string(*said.value) + ((used.*field).source == said.source ? " (used)" : ""));
      break;
    }
  }
}

/// A local batch goes with the global batch of its file: where another file's is used, it is a part of that.
void fit_local_batch(const Companions& all, std::int64_t dp, Workload& out) {
  if (!out.local_batch || !out.global_batch || dp < 1 || !all.toml) return;
  const Workload& toml = all.toml->workload;
  const std::int64_t of_toml = toml.global_batch ? *toml.global_batch.value : *out.local_batch.value * dp;
  if (toml.local_batch && of_toml != *out.global_batch.value) out.local_batch = {};
}

/// The global batch as the files other than the card tell it, the one that is believed first.
std::vector<Sourced<std::int64_t>> batches_beside_card(const Companions& all, std::int64_t dp) {
  std::vector<Sourced<std::int64_t>> batches;
  const auto* toml = all.toml ? &all.toml->workload : nullptr;
  if (toml != nullptr && toml->global_batch)
    batches.push_back({toml->global_batch.value, "toml"});
  else if (toml != nullptr && toml->local_batch && dp > 0)
    batches.push_back({*toml->local_batch.value * dp,
                       "derived: toml local_batch_size x " + std::to_string(dp) + " data-parallel ranks"});
  for (const auto* megatron : {&all.megatron_groups, &all.megatron_arguments})
    if (*megatron && (*megatron)->workload.global_batch)
      batches.push_back({(*megatron)->workload.global_batch.value, "megatron"});
  return batches;
}

/// What the card says of the batch against what the others do.
void compare_batch(const Companions& all, std::int64_t batch, const std::string& scope, std::int64_t dp, const Workload& used,
                   Problems& problems) {
  const Sourced<std::int64_t> local = all.toml ? all.toml->workload.local_batch : Sourced<std::int64_t>();
  const std::string number = std::to_string(batch);
  if (scope != "local" && dp > 1 && local.value == batch)
    return warn(problems, all,
                "batch_size " + number +
                    " equals the local batch of the TOML, which is per data-parallel rank; the card means the global batch");
  if (scope == "local" && local && *local.value != batch)
    return warn(problems, all, "the card says a local batch of " + number + ", toml " + std::to_string(*local.value));
  const std::int64_t global = scope != "local" ? batch : dp > 0 ? batch * dp : -1;
  if (global < 0) return;
  const std::vector<Sourced<std::int64_t>> batches = batches_beside_card(all, dp);
  const auto differs = std::find_if(batches.begin(), batches.end(), [&](const auto& one) { return *one.value != global; });
  if (differs == batches.end()) return;
  const Sourced<std::int64_t>& other = *differs;
  const bool other_is_used = used.global_batch.source == other.source;
  constexpr std::string_view derived = "derived: ";
  const bool is_derived = other.source.starts_with(derived);
  const std::string said = scope.empty() ? "batch_size " + number : "a global batch of " + std::to_string(global);
  warn(problems, all,
       "the card says " + said + (scope == "local" ? ", " + number + " x " + std::to_string(dp) + " data-parallel ranks" : "") +
           (other_is_used ? "" : " (used)") + ", " + (is_derived ? other.source.substr(derived.size()) + " is" : other.source) +
           " " + std::to_string(*other.value) + (other_is_used ? " (used)" : ""));
}

void resolve_batch(const Companions& all, Workload& out, Problems& problems) {
  const std::int64_t dp = out.mesh.known() ? std::int64_t{out.mesh.dp_replicate} * out.mesh.dp_shard : -1;
  std::optional<std::int64_t> card;
  if (all.card) card = all.card->batch;
  std::string scope = all.card ? all.card->batch_scope : std::string();
  if (card && !scope.empty() && scope != "global" && scope != "local") {
    warn(problems, all, "batch_size_scope '" + scope + "' is not known (global or local) and is not used");
    scope.clear();
  }
  const auto set = [](Sourced<std::int64_t>& to, std::int64_t value, std::string source) {
    if (!to) to = {value, std::move(source)};
  };
  if (all.toml) out.local_batch = all.toml->workload.local_batch;
  if (card && scope == "global") set(out.global_batch, *card, "card");
  if (card && scope == "local") {
    set(out.local_batch, *card, "card");
    if (dp > 0)
      set(out.global_batch, *card * dp, "derived: card batch_size x " + std::to_string(dp) + " data-parallel ranks");
  }
  const std::vector<Sourced<std::int64_t>> batches = batches_beside_card(all, dp);
  if (!out.global_batch && !batches.empty()) out.global_batch = batches.front();
  if (card && scope.empty() && !out.global_batch) {
    set(out.global_batch, *card, "card");
    warn(problems, all,
         "batch_size " + std::to_string(*card) + " is taken as global; the card does not say (batch_size_scope)");
  }
  if (card) compare_batch(all, *card, scope, dp, out, problems);
  if (!card && all.megatron_arguments)
    if (const auto& said = all.megatron_arguments->workload.global_batch; said && *said.value != *out.global_batch.value)
      warn_of_arguments(problems, all,
                        "the arguments say a global batch of " + std::to_string(*said.value) + ", " + out.global_batch.source +
                            " " + std::to_string(*out.global_batch.value) + " (used)");
  fit_local_batch(all, dp, out);
  if (out.global_batch && dp > 0 && *out.global_batch.value % dp == 0)
    set(out.local_batch, *out.global_batch.value / dp,
        "derived: global batch / " + std::to_string(dp) + " data-parallel ranks");
}

/// Each data-parallel rank takes whole micro-batches.
void check_division(const Companions& all, const Workload& w, Problems& problems) {
  if (!w.global_batch || !w.microbatch_size) return;
  const std::int64_t dp = w.mesh.known() ? std::int64_t{w.mesh.dp_replicate} * w.mesh.dp_shard : 1;
  const std::int64_t batch = *w.global_batch.value, size = *w.microbatch_size.value;
  if (batch % dp == 0 && batch / dp % size == 0) return;
  const std::string why = "a global batch of " + std::to_string(batch) + " (" + w.global_batch.source +
                          ") is not divisible by a micro-batch size of " + std::to_string(size) + " (" +
                          w.microbatch_size.source + ")" +
                          (dp > 1 ? " x " + std::to_string(dp) + " data-parallel ranks" : "");
  const bool of_arguments = all.megatron_arguments && (all.megatron_arguments->workload.global_batch ||
                                                       all.megatron_arguments->workload.microbatch_size);
  if (of_arguments)
    warn_of_arguments(problems, all, why);
  else
    warn(problems, all, why);
}

void resolve_microbatches(const Companions& all, Workload& out) {
  if (out.microbatches || !out.mesh.known()) return;
  const bool megatron = out.mesh.tp_innermost_megatron && all.megatron_arguments.has_value();
  if (out.mesh.pp == 1 && !megatron) return;
  std::int64_t size = out.microbatch_size.value.value_or(0);
  std::string of = out.microbatch_size.source;
  if (size == 0 && all.toml) {
    size = 1;  // TorchTitan's own default; the TOML leaves it out
    of = "toml default";
  }
  if (size == 0 || !out.local_batch || *out.local_batch.value % size != 0) return;
  out.microbatches = {*out.local_batch.value / size,
                      "derived: local batch / micro-batch size " + std::to_string(size) + " (" + of + ")"};
}

/// TorchTitan tells the layers of a virtual stage; its newer versions count the embedding and the head as one each, its older
/// ones do not: where both make whole stages of each rank, and other numbers of them, it is not known.
void resolve_virtual_stages(const Companions& all, Workload& out) {
  if (out.virtual_stages || !all.toml || !all.toml->layers_per_stage || !out.layers || !out.mesh.known()) return;
  const std::int64_t layers = *out.layers.value, of_stage = *all.toml->layers_per_stage, pp = out.mesh.pp;
  std::set<std::int64_t> possible;
  for (const std::int64_t counted : {layers, layers + 2}) {
    const std::int64_t stages = counted / of_stage + (counted % of_stage == 0 ? 0 : 1);
    if (stages >= pp && stages % pp == 0) possible.insert(stages / pp);
  }
  if (possible.size() != 1) return;
  out.virtual_stages = {*possible.begin(), "derived: " + std::to_string(layers) + " layers / " + std::to_string(of_stage) +
                                               " a virtual stage (toml) / " + std::to_string(pp) + " stages"};
}

}  // namespace

Workload resolve_workload(const Companions& all, Problems& problems) {
  Workload out;
  resolve_mesh(all, out, problems);
  const Order run{&all.megatron_groups, &all.toml, &all.megatron_arguments, &all.card};
  const Order model{&all.card, &all.megatron_arguments, &all.toml};
  for (const auto field : {&Workload::precision, &Workload::pipeline_schedule}) take_first(out, field, run);
  for (const auto field :
       {&Workload::seq_len, &Workload::microbatch_size, &Workload::microbatches, &Workload::virtual_stages})
    take_first(out, field, run);
  for (const auto field : {&Workload::model, &Workload::phase, &Workload::framework, &Workload::gpu_model})
    take_first(out, field, model);
  for (const auto field : {&Workload::gpus_per_node, &Workload::gpus_total, &Workload::layers, &Workload::heads,
                           &Workload::kv_heads, &Workload::head_dim, &Workload::hidden_size, &Workload::experts,
                           &Workload::experts_per_token, &Workload::vocab_size, &Workload::sliding_window})
    take_first(out, field, model);
  for (const auto field : {&Workload::parameters, &Workload::parameters_active, &Workload::parameters_embedding,
                           &Workload::scale_out_bytes_per_s, &Workload::scale_up_bytes_per_s})
    take_first(out, field, model);
  for (const auto* groups : {&all.megatron_groups})
    if (*groups) {
      out.megatron_tp = (*groups)->workload.megatron_tp;
      out.megatron_pp = (*groups)->workload.megatron_pp;
      out.megatron_dp = (*groups)->workload.megatron_dp;
      out.megatron_ep = (*groups)->workload.megatron_ep;
      out.megatron_model = (*groups)->workload.megatron_model;
    }
  resolve_batch(all, out, problems);
  compare_numbers(all, out, problems);
  check_parameters(all, out, problems);
  check_division(all, out, problems);
  resolve_microbatches(all, out);
  resolve_virtual_stages(all, out);
  return out;
}

std::string contradiction_of_parameters(const Workload& w) {
  const auto more = [](const char* part, const Sourced<double>& more_than, const char* whole, const Sourced<double>& all) {
    if (!more_than || !all || *more_than.value <= *all.value) return std::string();
    return std::string(part) + " " + count_text(*more_than.value) + " is more than " + whole + " " + count_text(*all.value);
  };
  const std::string why = more("num_params_active", w.parameters_active, "num_params", w.parameters);
  if (!why.empty()) return why;
  return w.parameters_active ? more("num_params_embedding", w.parameters_embedding, "num_params_active", w.parameters_active)
                             : more("num_params_embedding", w.parameters_embedding, "num_params", w.parameters);
}

}  // namespace ccl
