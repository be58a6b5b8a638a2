#include "discover/training_toml.hpp"

#include <toml++/toml.h>

#include <sstream>

namespace ccl {
namespace {

constexpr std::string_view source = "toml";

std::optional<std::int64_t> integer(const toml::table& root, std::string_view path) {
  // Exact: a number with a point may be too large to become a whole one.
  return root.at_path(path).value_exact<std::int64_t>();
}

std::optional<std::int64_t> positive(const toml::table& root, std::string_view path) {
  const std::optional<std::int64_t> value = integer(root, path);
  return value && *value > 0 ? value : std::nullopt;
}

std::optional<std::string> text_of(const toml::table& root, std::string_view path) {
  std::optional<std::string> value = root.at_path(path).value<std::string>();
  return value && !value->empty() ? value : std::nullopt;
}

std::optional<std::int64_t> degree(const toml::table& root, const std::string& key) {
  for (const char* section : {"parallelism.", "experimental.", "training.", "distributed."})
    if (const auto value = integer(root, section + key)) return value;
  return std::nullopt;
}

void read_mesh(const toml::table& root, Companion& out) {
  Mesh mesh;
  bool any = false;
  const auto read = [&](const char* key, std::int32_t& size) {
    const std::optional<std::int64_t> value = degree(root, key);
    if (!value) return;
    any = true;
    if (*value >= 1 && *value < 1'000'000) size = static_cast<std::int32_t>(*value);
    if (*value == -1 && &size == &mesh.dp_shard) out.rest = RestDimension::dp_shard;
  };
  read("pipeline_parallel_degree", mesh.pp);
  read("data_parallel_replicate_degree", mesh.dp_replicate);
  read("data_parallel_shard_degree", mesh.dp_shard);
  read("context_parallel_degree", mesh.cp);
  read("tensor_parallel_degree", mesh.tp);
  read("expert_parallel_degree", mesh.ep);
  if (!any) return;
  mesh.source = source;
  out.workload.mesh = mesh;
}

bool trains_in_float8(const toml::table& root) {
  const toml::array* converters = root.at_path("model.converters").as_array();
  if (converters == nullptr) return false;
  for (const toml::node& node : *converters)
    if (const auto name = node.value<std::string>(); name && name->find("float8") != std::string::npos) return true;
  return false;
}

void read_precision(const toml::table& root, Workload& w) {
  if (trains_in_float8(root))
    set_value(w.precision, std::optional<std::string>("fp8"), source);
  else if (const auto mixed = text_of(root, "training.mixed_precision_param"))
    set_value(w.precision, mixed, source);
  else
    set_value(w.precision, text_of(root, "training.dtype"), source);
}

}  // namespace

bool looks_like_training_toml(std::string_view text) {
  return text.find("[training]") != std::string_view::npos || text.find("[parallelism]") != std::string_view::npos ||
         text.find("[experimental]") != std::string_view::npos;
}

std::optional<Companion> read_training_toml(std::string_view text, std::string& why) {
  try {
    const toml::table root = toml::parse(text);
    if (!root.contains("training") && !root.contains("parallelism") && !root.contains("experimental")) {
      why = "it has neither [training] nor [parallelism]";
      return std::nullopt;
    }
    Companion out;
    Workload& w = out.workload;
    read_mesh(root, out);
    read_precision(root, w);
    std::optional<std::string> model = text_of(root, "model.name");
    if (const auto flavor = text_of(root, "model.flavor"); model && flavor) *model += " " + *flavor;
    set_value(w.model, model, source);
    set_value(w.framework, std::optional<std::string>("torchtitan"), source);
    set_value(w.phase, std::optional<std::string>("training"), source);
    set_value(w.global_batch, positive(root, "training.global_batch_size"), source);
    set_value(w.local_batch, positive(root, "training.local_batch_size"), source);
    if (!w.local_batch) set_value(w.local_batch, positive(root, "training.batch_size"), source);
    set_value(w.seq_len, positive(root, "training.seq_len"), source);
    for (const char* section : {"parallelism", "experimental"}) {
      const std::string s(section);
      if (!w.pipeline_schedule)
        set_value(w.pipeline_schedule, text_of(root, s + ".pipeline_parallel_schedule"), source);
      if (!w.microbatch_size)
        set_value(w.microbatch_size, positive(root, s + ".pipeline_parallel_microbatch_size"), source);
      if (!w.microbatches) set_value(w.microbatches, positive(root, s + ".pipeline_parallel_microbatches"), source);
    }
    return out;
  } catch (const toml::parse_error& error) {
    std::ostringstream text_of_error;
    text_of_error << "line " << error.source().begin.line << ": " << error.description();
    why = text_of_error.str();
    return std::nullopt;
  }
}

}  // namespace ccl
