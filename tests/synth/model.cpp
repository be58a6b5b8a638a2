#include "model.hpp"

namespace synth {

std::int64_t Model::layer_matrices(int ep) const {
  const std::int64_t attention = 2 * hidden * hidden + 2 * hidden * kv_dim();
  const std::int64_t mlp = 3 * hidden * ffn;
  return attention + (experts > 0 ? mlp * experts / ep + hidden * experts : mlp);
}

std::int64_t Model::parameters() const {
  return layers * (layer_matrices(1) + layer_norms()) + embedding_parameters() + output_parameters();
}

std::int64_t Model::parameters_active() const {
  if (experts == 0) return parameters();
  return parameters() - layers * 3 * hidden * ffn * (experts - top_k);
}

std::int64_t unit_elements(const Model& model, const Unit& unit, int tp, int ep, int sharded) {
  std::int64_t elements = 0;
  if (unit.kind == Unit::embedding) elements = model.embedding_parameters() / tp;
  if (unit.kind == Unit::layer) elements = model.layer_matrices(ep) / tp + model.layer_norms();
  if (unit.kind == Unit::output) elements = (model.output_parameters() - model.hidden) / tp + model.hidden;
  return (elements + sharded - 1) / sharded * sharded;
}

}  // namespace synth
