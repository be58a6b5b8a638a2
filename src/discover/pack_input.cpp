#include "discover/pack_input.hpp"

#include <type_traits>

namespace ccl {
namespace {

// One description of the fields serves both directions: Writing and Reading answer the same calls.
struct Writing {
  ByteWriter out;
  void operator()(const std::string& text) { out.text(text); }
  template <class T>
  requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  void operator()(const T& value) { out.value(value); }
  template <class T>
  std::size_t size(const std::vector<T>& rows) {
    out.value<std::uint64_t>(rows.size());
    return rows.size();
  }
  template <class T>
  bool present(const std::optional<T>& value) {
    out.value<std::uint8_t>(value ? 1 : 0);
    return value.has_value();
  }
};

struct Reading {
  ByteReader in;
  void operator()(std::string& text) { text = in.text(); }
  template <class T>
  requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  void operator()(T& value) { value = in.value<T>(); }
  template <class T>
  std::size_t size(std::vector<T>& rows) {
    rows.resize(in.value<std::uint64_t>());
    return rows.size();
  }
  template <class T>
  bool present(std::optional<T>& value) {
    if (in.value<std::uint8_t>() == 0) return false;
    value.emplace();
    return true;
  }
};

template <class Way, class Rows>
void pass_rows(Way& way, Rows& rows);

template <class Way, class T>
void pass(Way& way, Sourced<T>& field) {
  if (way.present(field.value)) way(*field.value);
  way(field.source);
}
template <class Way>
void pass(Way& way, std::string& text) {
  way(text);
}
template <class Way>
void pass(Way& way, std::int32_t& value) {
  way(value);
}
template <class Way>
void pass(Way& way, double& value) {
  way(value);
}
template <class Way>
void pass(Way& way, TraceFile& f) {
  way(f.path), way(f.shown), way(f.format), way(f.gzip), way(f.bytes), way(f.iteration), way(f.iteration_label);
  way(f.replica), way(f.rank_in_name), way(f.rank_by_option), way(f.host_in_name), way(f.owner);
  pass_rows(way, f.readers);
}
template <class Way>
void pass(Way& way, std::vector<std::int32_t>& ranks) {
  pass_rows(way, ranks);
}

template <class Way, class Rows>
void pass_rows(Way& way, Rows& rows) {
  const std::size_t size = way.size(rows);
  for (std::size_t i = 0; i < size; ++i) pass(way, rows[i]);
}

template <class Way>
void pass(Way& way, Workload& w) {
  Mesh& m = w.mesh;
  way(m.pp), way(m.dp_replicate), way(m.dp_shard), way(m.cp), way(m.tp), way(m.ep), way(m.tp_innermost_megatron);
  way(m.source);
  for (auto* field : {&w.model, &w.phase, &w.precision, &w.framework, &w.pipeline_schedule, &w.gpu_model})
    pass(way, *field);
  for (auto* field : {&w.global_batch, &w.local_batch, &w.seq_len, &w.microbatch_size, &w.microbatches,
                      &w.virtual_stages, &w.gpus_per_node, &w.gpus_total, &w.layers, &w.heads, &w.kv_heads, &w.head_dim,
                      &w.hidden_size, &w.experts, &w.experts_per_token, &w.vocab_size, &w.sliding_window})
    pass(way, *field);
  for (auto* field : {&w.parameters, &w.parameters_active, &w.parameters_embedding, &w.scale_out_bytes_per_s,
                      &w.scale_up_bytes_per_s})
    pass(way, *field);
  for (auto* groups : {&w.megatron_tp, &w.megatron_pp, &w.megatron_dp, &w.megatron_ep, &w.megatron_model})
    pass_rows(way, *groups);
  BenchResult& b = w.bench;
  way(b.file), way(b.mean_ttft_s), way(b.median_ttft_s), way(b.mean_tpot_s), way(b.median_tpot_s);
  way(b.output_tokens_per_s), way(b.requests_per_s), way(b.mean_latency_s);
  ExpertLoads& e = w.expert_loads;
  way(e.file), way(e.files_count), way(e.entries_count);
  pass_rows(way, e.loads);
  way(w.card_file), way(w.training_config_file), way(w.group_file);
}

template <class Way>
void pass(Way& way, Input& input) {
  way(input.root), way(input.run);
  pass_rows(way, input.files);
  pass(way, input.workload);
  pass_rows(way, input.runs);
}

}  // namespace

Bytes pack(const Input& input) {
  Writing way;
  pass(way, const_cast<Input&>(input));  // Writing only reads
  way.out.value<std::uint64_t>(input.host_map.size());
  for (const auto& [rank, host] : input.host_map) {
    way.out.value(rank);
    way.out.text(host);
  }
  return way.out.take();
}

Input unpack_input(std::span<const std::byte> bytes) {
  Input input;
  Reading way{ByteReader(bytes)};
  pass(way, input);
  for (auto left = way.in.value<std::uint64_t>(); left > 0; --left) {
    const auto rank = way.in.value<std::int32_t>();
    input.host_map[rank] = way.in.text();
  }
  return input;
}

}  // namespace ccl
