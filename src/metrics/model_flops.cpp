#include "metrics/model_flops.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "discover/companion.hpp"

namespace ccl {
namespace {

std::string shown(const char* name, double value, const std::string& source) {
  return fmt::format("{} {:.10g} ({})", name, value, source);
}

}  // namespace

ModelSize model_size(const Workload& w, const std::string& convention) {
  ModelSize out;
  const Sourced<double>& parameters = w.parameters_active ? w.parameters_active : w.parameters;
  const bool width = (w.heads && w.head_dim) || w.hidden_size;
  const bool embedding = w.parameters_embedding || (w.vocab_size && w.hidden_size);
  std::string missing;
  const auto need = [&](bool known, const char* what) {
    if (!known) missing += std::string(missing.empty() ? "" : ", ") + what;
  };
  need(bool(parameters), "number of parameters");
  need(bool(w.layers), "number of layers");
  need(width, "heads and head size");
  need(embedding || convention == "palm", "embedding parameters");
  if (!missing.empty()) {
    out.missing = "unknown model size: " + missing + " (give --card)";
    return out;
  }
  if (const std::string why = contradiction_of_parameters(w); !why.empty()) {
    out.missing = "the model size contradicts itself: " + why;
    return out;
  }
  out.parameters = *parameters.value;
  out.layers = static_cast<double>(*w.layers.value);
  out.inputs = shown("N", out.parameters, parameters.source);
  if (w.parameters_embedding) {
    out.embedding = *w.parameters_embedding.value;
    out.inputs += ", " + shown("N_embedding", out.embedding, w.parameters_embedding.source);
  } else if (embedding) {
    out.embedding = static_cast<double>(*w.vocab_size.value * *w.hidden_size.value);
    out.inputs += ", " + shown("N_embedding", out.embedding, "derived: vocabulary x hidden size");
    if (out.embedding > out.parameters)
      out.missing = "the model size contradicts itself: vocabulary x hidden size is more than the number of parameters";
  }
  out.inputs += ", " + shown("L", out.layers, w.layers.source);
  if (w.heads && w.head_dim) {
    out.attention_width = static_cast<double>(*w.heads.value * *w.head_dim.value);
    out.inputs += ", " + shown("H x Q", out.attention_width, w.heads.source);
  } else {
    out.attention_width = static_cast<double>(*w.hidden_size.value);
    out.inputs += ", " + shown("H x Q", out.attention_width, "derived: hidden size");
  }
  if (w.sliding_window && *w.sliding_window.value > 0) {
    out.sliding_window = static_cast<double>(*w.sliding_window.value);
    out.inputs += ", " + shown("sliding window", out.sliding_window, w.sliding_window.source);
  }
  return out;
}

double flops_per_token(const ModelSize& model, const std::string& convention, double seq_len, const Workload& w) {
  const double matrices = model.parameters - (convention == "palm" ? 0 : model.embedding);
  const double attended = model.sliding_window > 0 ? std::min(seq_len, model.sliding_window) : seq_len;
  const double attention = (convention == "megatron" ? 6 : 12) * model.layers * model.attention_width * attended;
  const bool inference = w.phase && *w.phase.value == "inference";
  return inference ? (6 * matrices + attention) / 3 : 6 * matrices + attention;
}

}  // namespace ccl
