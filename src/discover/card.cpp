#include "discover/card.hpp"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "core/edit_distance.hpp"
#include "core/lower_case.hpp"

namespace ccl {
namespace {

constexpr std::string_view source = "card";
constexpr double most_of_a_number = 1e15;

/// "8030261248", "8.03e9", "8B"; the whole text or nothing.
std::optional<double> parse_number(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '+')) text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !std::isfinite(value)) return std::nullopt;
  const std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (rest.empty()) return value;
  const std::size_t unit = std::string_view("KMBT").find(static_cast<char>(rest.front() & ~0x20));
  if (rest.size() != 1 || unit == std::string_view::npos) return std::nullopt;
  return value * std::pow(1e3, static_cast<double>(unit + 1));
}

class CardTree {
 public:
  using Paths = std::vector<std::string>;
  /// asked: filled with the paths of every value that is asked for; unusable: with the values that are not what they
  /// should be.
  CardTree(YAML::Node root, std::vector<Paths>* asked, std::vector<std::string>* unusable)
      : root_(std::move(root)), asked_(asked), unusable_(unusable) {}

  struct Found {
    std::string path;
    YAML::Node node;
  };
  /// The first of the dotted paths that exists with a value.
  Found find(const Paths& paths) const {
    if (asked_ != nullptr) asked_->push_back(paths);
    for (const std::string& path : paths) {
      const YAML::Node node = at(path);
      if (node.IsDefined() && !node.IsNull()) return {path, node};
    }
    return {"", YAML::Node(YAML::NodeType::Null)};
  }

  std::optional<std::string> text(const Paths& paths) const {
    const YAML::Node node = find(paths).node;
    return node.IsScalar() && !is_open(node.Scalar()) ? std::optional(node.Scalar()) : std::nullopt;
  }

  /// Nothing for a sweep over several values, and for what is said not to be `wanted`.
  std::optional<double> number(const Found& found, double least, bool whole, const char* wanted) const {
    const YAML::Node& node = found.node;
    if (!node.IsScalar() && !node.IsMap()) return std::nullopt;
    if (node.IsScalar() && (is_open(node.Scalar()) || node.Scalar().find(',') != std::string::npos)) return std::nullopt;
    const std::optional<double> value = node.IsScalar() ? parse_number(node.Scalar()) : std::nullopt;
    if (value && *value >= least && *value <= most_of_a_number && (!whole || *value == std::floor(*value))) return value;
    refuse(found, std::string("not ") + wanted);
    return std::nullopt;
  }

  /// 0: there is none.
  std::optional<double> positive(const Paths& paths) const {
    const std::optional<double> value = number(find(paths), 0, false, "a number from 0 to 1e15");
    return value && *value > 0 ? value : std::nullopt;
  }
  std::optional<std::int64_t> whole(const Paths& paths) const {
    const std::optional<double> value = number(find(paths), 0, true, "a whole number from 0 to 1e15");
    return value && *value > 0 ? std::optional(static_cast<std::int64_t>(*value)) : std::nullopt;
  }
  std::optional<std::int64_t> count(const Paths& paths) const {
    const std::optional<double> value = number(find(paths), 1, true, "a whole number from 1 to 1e15");
    return value ? std::optional(static_cast<std::int64_t>(*value)) : std::nullopt;
  }

  void refuse(const Found& found, const std::string& why) const {
    if (unusable_ == nullptr) return;
    const std::string value = found.node.IsScalar() ? "'" + found.node.Scalar() + "'"
                              : found.node.IsMap()  ? "a section"
                                                    : "a list of " + std::to_string(found.node.size());
    unusable_->push_back("line " + std::to_string(found.node.Mark().line + 1) + ": '" + found.path + "' is " + value + ", " +
                         why + ", and is not used");
  }

  static bool is_open(const std::string& text) { return text.empty() || text == "N/A" || text == "TBD"; }

 private:
  YAML::Node at(std::string_view path) const {
    YAML::Node node;
    node.reset(root_);
    while (!path.empty()) {
      if (!node.IsMap()) return YAML::Node(YAML::NodeType::Undefined);
      const std::size_t dot = std::min(path.find('.'), path.size());
      const YAML::Node& fixed = node;  // operator[] of a const node adds nothing
      const YAML::Node next = fixed[std::string(path.substr(0, dot))];
      if (!next.IsDefined()) return YAML::Node(YAML::NodeType::Undefined);
      node.reset(next);
      path.remove_prefix(std::min(dot + 1, path.size()));
    }
    return node;
  }

  YAML::Node root_;
  std::vector<Paths>* asked_;
  std::vector<std::string>* unusable_;
};

CardTree::Paths in_plan(const std::string& key) {
  CardTree::Paths paths;
  for (const char* plan :
       {"Model-executor.model_plan_parallelization.", "workload.Model-executor.model_plan_parallelization.",
        "model_executor.model_plan_parallelization.", "model_plan_parallelization."})
    paths.push_back(plan + key);
  return paths;
}

void read_mesh(const CardTree& card, Companion& out) {
  Mesh mesh;
  bool any = false, sweep = false;
  const std::array<std::pair<const char*, std::int32_t*>, 6> fields{{{"pp", &mesh.pp},
                                                                     {"dp_replicate", &mesh.dp_replicate},
                                                                     {"dp_shard", &mesh.dp_shard},
                                                                     {"cp", &mesh.cp},
                                                                     {"tp", &mesh.tp},
                                                                     {"ep", &mesh.ep}}};
  for (const auto& [key, size] : fields) {
    const CardTree::Found found = card.find(in_plan(key));
    if (found.node.IsNull() || (found.node.IsScalar() && found.node.Scalar().empty())) continue;
    const bool may_be_rest = size == &mesh.dp_shard;
    std::optional<double> value = card.number(found, may_be_rest ? -1 : 0, true, "a number of ranks");
    if (value && *value > 1e6) {
      card.refuse(found, "more than 1000000 ranks");
      value.reset();
    }
    if (!value) {
      sweep = true;  // over sizes, or not known: no mesh
      continue;
    }
    any = true;
    if (*value >= 1) *size = static_cast<std::int32_t>(*value);
    if (*value == -1) out.rest = RestDimension::dp_shard;
  }
  if (!any || sweep) return;
  mesh.source = source;
  out.workload.mesh = mesh;
}

void read_model(const CardTree& card, Workload& w) {
  const auto in_model = [](const char* key, const char* alias = nullptr) {
    CardTree::Paths paths;
    for (const char* name : {key, alias})
      for (const char* section :
           {"workload.model.model_arch.", "workload.model.", "workload_definition.model_arch.", "workload_definition."})
        if (name != nullptr) paths.push_back(std::string(section) + name);
    return paths;
  };
  const auto whole = [&](const char* key) { return card.whole(in_model(key)); };
  set_value(w.model,
            card.text({"workload.model.model_family", "workload_definition.model_family", "workload_definition.model"}),
            source);
  set_value(w.phase, card.text({"workload.model.phase", "workload_definition.phase"}), source);
  set_value(w.precision, card.text({"workload.model.precision", "workload_definition.precision"}), source);
  set_value(w.parameters, card.positive(in_model("num_params")), source);
  set_value(w.parameters_embedding, card.positive(in_model("num_params_embedding")), source);
  set_value(w.parameters_active, card.positive(in_model("num_params_active", "num_active_params")), source);
  set_value(w.layers, whole("num_layers"), source);
  set_value(w.heads, whole("num_heads"), source);
  set_value(w.kv_heads, whole("num_kv_heads"), source);
  set_value(w.head_dim, whole("head_dim"), source);
  set_value(w.hidden_size, whole("hidden_size"), source);
  set_value(w.experts, whole("num_experts"), source);
  set_value(w.experts_per_token, whole("num_experts_per_tok"), source);
  set_value(w.vocab_size, whole("vocab_size"), source);
  set_value(w.sliding_window, whole("sliding_window"), source);
}

void read_hardware(const CardTree& card, Workload& w) {
  set_value(w.gpu_model, card.text({"workload.hardware.xpu_spec.model", "xpu_specification.model"}), source);
  set_value(w.gpus_total, card.count({"workload.hardware.xpu_spec.total_count", "xpu_specification.total_count"}),
            source);
  set_value(w.gpus_per_node,
            card.count({"workload.hardware.xpu_spec.count_per_node", "xpu_specification.count_per_node"}), source);
  const CardTree::Found pair =
      card.find({"workload.hardware.network_topo.bandwidth_gbps", "network_topology_bandwidth_latency.bandwidth_gbps"});
  if (!pair.node.IsSequence() || pair.node.size() != 2) {
    const bool open = pair.node.IsNull() || (pair.node.IsSequence() && pair.node.size() == 0) ||
                      (pair.node.IsScalar() && CardTree::is_open(pair.node.Scalar()));
    if (!open) card.refuse(pair, "not [scale-out, scale-up]");  // one entry does not tell which link it means
    return;
  }
  const auto bytes_per_s = [&](std::size_t i) -> std::optional<double> {
    const YAML::Node& rates = pair.node;
    const std::optional<double> gbit = card.number({pair.path + "[" + std::to_string(i) + "]", rates[i]}, 1e-6, false,
                                                   "a rate above 0");
    return gbit ? std::optional(*gbit * 1e9 / 8) : std::nullopt;
  };
  set_value(w.scale_out_bytes_per_s, bytes_per_s(0), source);
  set_value(w.scale_up_bytes_per_s, bytes_per_s(1), source);
}

constexpr std::array<std::string_view, 5> sections{"workload", "Model-executor", "workload_definition",
                                                   "xpu_specification", "model_plan_parallelization"};

Companion read_values(const CardTree& card) {
  Companion out;
  read_mesh(card, out);
  read_model(card, out.workload);
  read_hardware(card, out.workload);
  set_value(out.workload.framework,
            card.text({"Model-executor.framework.name", "workload.Model-executor.framework.name", "framework.name"}),
            source);
  set_value(out.workload.seq_len,
            card.count({"workload.data.seq_len", "workload_definition.seq_len", "workload_definition.data.seq_len"}),
            source);
  set_value(out.workload.microbatch_size, card.whole(in_plan("pp_mb")), source);
  out.batch = card.count(
      {"workload.data.batch_size", "workload_definition.batch_size", "workload_definition.data.batch_size"});
  out.batch_scope = card.text({"workload.data.batch_size_scope"}).value_or("");
  return out;
}

/// Upper case and hyphens do not tell keys apart for a reader.
std::string plain(std::string_view key) {
  std::string text = lower_case(key);
  std::replace(text.begin(), text.end(), '-', '_');
  return text;
}

/// The key that a key which is not known was probably meant to be: cards hold many other keys, and tp, pp, cp are near
/// to each other.
std::string meant(const std::string& key, const std::set<std::string>& known, const YAML::Node& map) {
  for (const std::string& candidate : known) {
    if (map[candidate].IsDefined()) continue;
    const std::string word = plain(key), other = plain(candidate);
    if (word == other) return candidate;
    const std::size_t most = other.size() < 4 ? 0 : other.size() < 8 ? 1 : 2;
    if (edit_distance(word, other) <= most) return candidate;
  }
  return "";
}

using KeysOf = std::map<std::string, std::set<std::string>>;  // path of a section, ending in '.' -> its keys

void look_for_misspelt(const YAML::Node& map, const std::string& section, const KeysOf& known,
                       std::vector<std::string>& found) {
  const auto keys = known.find(section);
  if (!map.IsMap() || keys == known.end()) return;
  for (const auto& entry : map) {
    if (!entry.first.IsScalar()) continue;
    const std::string& key = entry.first.Scalar();
    if (keys->second.contains(key)) {
      look_for_misspelt(entry.second, section + key + ".", known, found);
      continue;
    }
    const std::string other = meant(key, keys->second, map);
    if (!other.empty())
      found.push_back("line " + std::to_string(entry.first.Mark().line + 1) + ": '" + section + key +
                      "' is not read, did you mean '" + other + "'?");
  }
}

}  // namespace

const std::vector<std::vector<std::string>>& card_keys() {
  static const std::vector<std::vector<std::string>> all = [] {
    std::vector<CardTree::Paths> asked;
    read_values(CardTree(YAML::Node(YAML::NodeType::Map), &asked, nullptr));
    return asked;
  }();
  return all;
}

std::vector<std::string> misspelt_card_keys(const std::string& text) {
  KeysOf known;
  for (const auto& places : card_keys())
    for (const std::string& path : places)
      for (std::size_t from = 0, dot = 0; dot != std::string::npos; from = dot + 1) {
        dot = path.find('.', from);
        known[path.substr(0, from)].insert(path.substr(from, dot == std::string::npos ? dot : dot - from));
      }
  std::vector<std::string> found;
  look_for_misspelt(YAML::Load(text), "", known, found);
  return found;
}

bool looks_like_card(std::string_view text) {
  return std::any_of(sections.begin(), sections.end(), [&](std::string_view key) {
    const std::string line = std::string(key) + ":";
    return text.substr(0, line.size()) == line || text.find("\n" + line) != std::string_view::npos;
  });
}

std::optional<Companion> read_card(const std::string& text, std::string& why) {
  try {
    const YAML::Node root = YAML::Load(text);
    if (!root.IsMap()) {
      why = "it holds no keys";
      return std::nullopt;
    }
    std::vector<std::string> unusable;
    const CardTree card(root, nullptr, &unusable);
    if (std::none_of(sections.begin(), sections.end(),
                     [&](std::string_view key) { return !card.find({std::string(key)}).node.IsNull(); })) {
      why = "it has none of the sections of a workload card";
      return std::nullopt;
    }
    Companion out = read_values(card);
    out.unusable = std::move(unusable);
    return out;
  } catch (const YAML::Exception& error) {
    why = error.what();
    return std::nullopt;
  }
}

}  // namespace ccl
