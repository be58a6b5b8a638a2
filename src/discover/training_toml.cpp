#include "discover/training_toml.hpp"

#include <toml++/toml.h>

#include <sstream>

namespace ccl {
namespace {

constexpr std::string_view source = "toml";

constexpr std::int64_t most_ranks = 1'000'000, most_of_a_number = 1'000'000'000'000'000;

/// Numbers of the file; those that cannot be are told.
class Numbers {
 public:
  Numbers(const toml::table& root, std::vector<std::string>& unusable) : root_(root), unusable_(unusable) {}

  /// From 1 on. TorchTitan writes 0 or -1 where it works the number out itself: `open`.
  std::optional<std::int64_t> count(std::string_view path, bool open = false) const {
    return within(path, open ? -1 : 1, 1, most_of_a_number, "a whole number from 1 to 1e15");
  }
  /// 0 and 1: not used; −1 is for dp_shard alone, the rest of the ranks.
  std::optional<std::int64_t> degree(std::string_view path, bool may_be_rest) const {
    return within(path, may_be_rest ? -1 : 0, may_be_rest ? -1 : 0, most_ranks - 1, "a number of ranks");
  }
  bool has(std::string_view path) const { return bool(root_.at_path(path)); }

 private:
  /// Nothing where it is not there, and silently from `least_written` up to below `least`.
  std::optional<std::int64_t> within(std::string_view path, std::int64_t least_written, std::int64_t least, std::int64_t most,
                                     const char* wanted) const {
    const auto node = root_.at_path(path);
    if (!node) return std::nullopt;
    // Exact: a number with a point may be too large to become a whole one.
    const std::optional<std::int64_t> value = node.value_exact<std::int64_t>();
    if (value && *value >= least && *value <= most) return value;
    if (value && *value >= least_written && *value < least) return std::nullopt;
    std::ostringstream text;
    text << "line " << node.node()->source().begin.line << ": '" << path << "' is ";
    if (value)
      text << "'" << *value << "'";
    else if (const auto other = node.value_exact<std::string>())
      text << "'" << *other << "'";
    else
      text << "no whole number";
    text << ", not " << wanted << ", and is not used";
    unusable_.push_back(text.str());
    return std::nullopt;
  }

  const toml::table& root_;
  std::vector<std::string>& unusable_;
};

std::optional<std::string> text_of(const toml::table& root, std::string_view path) {
  std::optional<std::string> value = root.at_path(path).value<std::string>();
  return value && !value->empty() ? value : std::nullopt;
}

void read_mesh(const Numbers& numbers, Companion& out) {
  Mesh mesh;
  bool any = false, known = true;
  out.rest = RestDimension::dp_shard;  // where the file does not say it, all that is left
  const auto read = [&](const char* key, std::int32_t& size) {
    for (const char* section : {"parallelism.", "experimental.", "training.", "distributed."}) {
      const std::string path = std::string(section) + key;
      if (!numbers.has(path)) continue;
      const std::optional<std::int64_t> value = numbers.degree(path, &size == &mesh.dp_shard);
      any = true;
      if (!value) return void(known = false);  // another size would be a guess
      if (*value >= 1) size = static_cast<std::int32_t>(*value);
      if (&size == &mesh.dp_shard && *value != -1) out.rest = RestDimension::none;
      return;
    }
  };
  read("pipeline_parallel_degree", mesh.pp);
  read("data_parallel_replicate_degree", mesh.dp_replicate);
  read("data_parallel_shard_degree", mesh.dp_shard);
  read("context_parallel_degree", mesh.cp);
  read("tensor_parallel_degree", mesh.tp);
  read("expert_parallel_degree", mesh.ep);
  if (!any || !known) return void(out.rest = RestDimension::none);
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
  else if (const auto dtype = text_of(root, "training.dtype"); dtype != "float32")
    set_value(w.precision, dtype, source);  // of parameters; where these are float32, mixed precision still computes in bfloat16
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
    const Numbers numbers(root, out.unusable);
    read_mesh(numbers, out);
    read_precision(root, w);
    std::optional<std::string> model = text_of(root, "model.name");
    if (const auto flavor = text_of(root, "model.flavor"); model && flavor) *model += " " + *flavor;
    set_value(w.model, model, source);
    set_value(w.framework, std::optional<std::string>("torchtitan"), source);
    set_value(w.phase, std::optional<std::string>("training"), source);
    set_value(w.global_batch, numbers.count("training.global_batch_size", true), source);
    set_value(w.local_batch, numbers.count("training.local_batch_size"), source);
    if (!w.local_batch) set_value(w.local_batch, numbers.count("training.batch_size"), source);
    set_value(w.seq_len, numbers.count("training.seq_len"), source);
    for (const char* section : {"parallelism", "experimental"}) {
      const std::string s(section);
      if (!w.pipeline_schedule)
        set_value(w.pipeline_schedule, text_of(root, s + ".pipeline_parallel_schedule"), source);
      if (!w.microbatch_size)
        set_value(w.microbatch_size, numbers.count(s + ".pipeline_parallel_microbatch_size"), source);
      if (!out.layers_per_stage) out.layers_per_stage = numbers.count(s + ".pipeline_parallel_layers_per_stage");
      if (!w.microbatches) set_value(w.microbatches, numbers.count(s + ".pipeline_parallel_microbatches", true), source);
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
