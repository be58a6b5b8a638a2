// Model card: shapes in, parameter counts, message sizes (elements) and kernel times out. Llama-like blocks; the
// volumes of a training step follow from these counts to the byte.
#pragma once
#include <cstdint>
#include <string>

namespace synth {

struct Model {
  std::string name = "llama", flavor = "tiny";
  std::int64_t layers = 4, hidden = 2048, ffn = 5632, heads = 16, kv_heads = 16, vocab = 32000, seq = 2048;
  std::int64_t local_batch = 1;         // sequences per data-parallel rank and micro-batch
  std::int64_t experts = 0, top_k = 2;  // experts > 0: every layer's MLP is a mixture of experts

  std::int64_t head_dim() const { return hidden / heads; }
  std::int64_t kv_dim() const { return kv_heads * head_dim(); }

  // Parameters, split into what tensor parallelism shards and what it keeps whole (norms).
  std::int64_t layer_norms() const { return 2 * hidden; }
  std::int64_t layer_matrices(int ep) const;
  std::int64_t embedding_parameters() const { return vocab * hidden; }
  std::int64_t output_parameters() const { return vocab * hidden + hidden; }  // with the final norm
  std::int64_t parameters() const;
  std::int64_t parameters_active() const;
};

/// One FSDP module: the embedding, one layer, or the final norm with the output projection.
struct Unit {
  enum Kind { embedding, layer, output } kind;
  std::int64_t index = 0;  // of the layer
};

/// Parameters of one unit on one tensor-parallel rank, padded to a multiple of the sharding ranks.
std::int64_t unit_elements(const Model& model, const Unit& unit, int tp, int ep, int sharded);

}  // namespace synth
