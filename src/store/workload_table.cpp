#include <fmt/format.h>

#include "store/run_tables.hpp"

namespace ccl {
namespace {

struct WorkloadRow {
  std::string name, value, unit, source;
};

std::string shown(const std::string& value) { return value; }
std::string shown(std::int64_t value) { return std::to_string(value); }
std::string shown(double value) { return fmt::format("{}", value); }

/// The rows of one workload; values that nobody told are left out.
class Rows {
 public:
  template <class T>
  void add(const char* name, const char* unit, const Sourced<T>& value) {
    if (value) rows_.push_back({name, shown(*value.value), unit, value.source});
  }
  void add(const char* name, const std::string& value, const std::string& source) {
    if (!value.empty()) rows_.push_back({name, value, "", source});
  }
  const std::vector<WorkloadRow>& all() const { return rows_; }

 private:
  std::vector<WorkloadRow> rows_;
};

void add_mesh(Rows& rows, const Mesh& mesh) {
  if (!mesh.known()) return;
  const auto size = [&](const char* name, std::int64_t ranks) { rows.add(name, shown(ranks), mesh.source); };
  size("pp", mesh.pp);
  size("dp_replicate", mesh.dp_replicate);
  size("dp_shard", mesh.dp_shard);
  size("cp", mesh.cp);
  size("tp", mesh.tp);
  size("ep", mesh.ep);
}

void add_model(Rows& rows, const Workload& w) {
  rows.add("model", "", w.model);
  rows.add("phase", "", w.phase);
  rows.add("precision", "", w.precision);
  rows.add("framework", "", w.framework);
  rows.add("parameters", "", w.parameters);
  rows.add("parameters_active", "", w.parameters_active);
  rows.add("parameters_embedding", "", w.parameters_embedding);
  rows.add("layers", "", w.layers);
  rows.add("heads", "", w.heads);
  rows.add("kv_heads", "", w.kv_heads);
  rows.add("head_dim", "", w.head_dim);
  rows.add("hidden_size", "", w.hidden_size);
  rows.add("experts", "", w.experts);
  rows.add("experts_per_token", "", w.experts_per_token);
  rows.add("vocab_size", "", w.vocab_size);
  rows.add("sliding_window", "tokens", w.sliding_window);
}

void add_run(Rows& rows, const Workload& w) {
  rows.add("global_batch", "sequences", w.global_batch);
  rows.add("local_batch", "sequences", w.local_batch);
  rows.add("seq_len", "tokens", w.seq_len);
  rows.add("microbatch_size", "sequences", w.microbatch_size);
  rows.add("microbatches", "", w.microbatches);
  rows.add("virtual_stages", "", w.virtual_stages);
  rows.add("pipeline_schedule", "", w.pipeline_schedule);
  rows.add("gpu_model", "", w.gpu_model);
  rows.add("gpus_per_node", "", w.gpus_per_node);
  rows.add("gpus_total", "", w.gpus_total);
  rows.add("scale_out_bandwidth", "bytes/s", w.scale_out_bytes_per_s);
  rows.add("scale_up_bandwidth", "bytes/s", w.scale_up_bytes_per_s);
  rows.add("card_file", w.card_file, "found");
  rows.add("training_config_file", w.training_config_file, "found");
  rows.add("group_file", w.group_file, "found");
}

}  // namespace

ResultTable workload_table(const Workload& workload) {
  Rows rows;
  add_mesh(rows, workload.mesh);
  add_model(rows, workload);
  add_run(rows, workload);
  using Row = WorkloadRow;
  const std::vector<ColumnSpec<Row>> specs{
      text_column<Row>("name", "what is told", [](const Row& row) { return row.name; }),
      text_column<Row>("value", "its value as text", [](const Row& row) { return row.value; }),
      text_column<Row>("unit", "unit of the value", [](const Row& row) { return row.unit; }),
      text_column<Row>("source", "card, toml, megatron, trace, option or how it was derived",
                       [](const Row& row) { return row.source; })};
  return make_table("workload", "what the training run was meant to be, each value with where it came from", specs,
                    rows.all());
}

}  // namespace ccl
