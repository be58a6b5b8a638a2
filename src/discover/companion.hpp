// What one companion file (workload card, TorchTitan TOML, Megatron arguments, Megatron group file) says on its own.
// resolve_workload() settles who is believed.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/problems.hpp"
#include "discover/workload.hpp"

namespace ccl {

enum class RestDimension : std::uint8_t { none, dp_shard, dp_replicate };

struct Companion {
  Workload workload;  // every value with this file as its source; global_batch, local_batch as written
  RestDimension rest = RestDimension::none;  // the mesh dimension that is world / all others
  std::optional<std::int64_t> layers_per_stage;  // TorchTitan: of a virtual stage, the embedding and the head counted or not
  std::optional<std::int64_t> batch;         // the card's batch_size, whose scope is often unsaid
  std::string batch_scope;                   // the card's batch_size_scope
  std::vector<std::string> unusable;         // values that are not read, each as a sentence
  std::string shown;                         // Megatron arguments: what a warning names
};

struct Companions {
  std::optional<Companion> card, toml, megatron_arguments, megatron_groups;
  std::int64_t world_size = -1;  // best guess before the traces are read: their first bytes, else their names
};

/// Mesh, batch and schedule: group file, TOML, Megatron arguments, card; of meshes the first that makes world_size. Model
/// and hardware: card, Megatron arguments, TOML. Batch: explicit scope of the card, TOML global, TOML local × data-parallel
/// ranks, Megatron global, card without scope (as global, with a warning). File names in the result are left empty.
Workload resolve_workload(const Companions& companions, Problems& problems);

/// Why the numbers of parameters cannot be; empty: they can.
std::string contradiction_of_parameters(const Workload& workload);

template <class T>
void set_value(Sourced<T>& to, const std::optional<T>& value, std::string_view source) {
  if (!value) return;
  to.value = value;
  to.source = source;
}

}  // namespace ccl
