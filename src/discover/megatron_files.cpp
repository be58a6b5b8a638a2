#include "discover/megatron_files.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <vector>

namespace ccl {
namespace {

constexpr std::string_view source = "megatron";

std::optional<std::int64_t> whole(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  constexpr std::int64_t most = 1'000'000'000'000'000;
  if (error != std::errc() || end != text.data() + text.size() || value <= 0 || value > most) return std::nullopt;
  return value;
}

std::string_view trim(std::string_view text, std::string_view what = " \t\r") {
  const std::size_t first = text.find_first_not_of(what);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(what) - first + 1);
}

template <class Do>
void for_each_line(std::string_view text, Do&& work) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    work(trim(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

/// Words of a shell text without comments; quotes and parentheses end words and are dropped.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for_each_line(text, [&](std::string_view line) {
    std::string word;
    const auto flush = [&] {
      if (!word.empty()) words.push_back(std::move(word));
      word.clear();
    };
    for (const char c : line) {
      if (c == '#' && word.empty()) break;
      if (std::string_view(" \t\r\\\"'();,").find(c) != std::string_view::npos)
        flush();
      else
        word.push_back(c);
    }
    flush();
  });
  return words;
}

using Variables = std::map<std::string, std::string>;

std::string expand(std::string_view word, const Variables& variables, int depth = 0) {
  if (depth > 8 || word.size() < 2 || word.front() != '$') return std::string(word);
  std::string_view name = word.substr(1);
  std::string_view fallback;
  if (name.front() == '{' && name.back() == '}') name = name.substr(1, name.size() - 2);
  if (const std::size_t at = name.find(":-"); at != std::string_view::npos) {
    fallback = name.substr(at + 2);
    name = name.substr(0, at);
  }
  const auto found = variables.find(std::string(name));
  if (found != variables.end() && found->second != word) return expand(found->second, variables, depth + 1);
  return fallback.empty() ? std::string(word) : expand(fallback, variables, depth + 1);
}

bool is_name(std::string_view text) {
  return !text.empty() && text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789") ==
                              std::string_view::npos;
}

class Arguments {
 public:
  explicit Arguments(std::string_view text) {
    const std::vector<std::string> words = words_of(text);
    Variables variables;
    for (const std::string& word : words)
      if (const std::size_t at = word.find('=');
          at != std::string::npos && is_name(std::string_view(word).substr(0, at)))
        variables[word.substr(0, at)] = word.substr(at + 1);
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (words[i].compare(0, 2, "--") != 0) continue;
      const std::size_t at = words[i].find('=');
      const std::string name = words[i].substr(2, at == std::string::npos ? at : at - 2);
      std::string value = at != std::string::npos ? words[i].substr(at + 1) : i + 1 < words.size() ? words[i + 1] : "";
      values_[name] = value.compare(0, 2, "--") == 0 ? "" : expand(value, variables);
    }
  }
  bool has(const std::string& name) const { return values_.count(name) > 0; }
  /// What a shell would fill in is not known, the rest must be a number.
  std::string why_unusable(const std::string& name) const {
    const auto found = values_.find(name);
    if (found == values_.end() || found->second.find_first_of("$`<[]{") != std::string::npos || whole(found->second)) return "";
    if (found->second.empty()) return "--" + name + " has no value, and is not used";
    return "--" + name + " is '" + found->second + "', not a whole number from 1 to 1e15, and is not used";
  }
  std::optional<std::int64_t> count(const std::string& name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? std::nullopt : whole(found->second);
  }

 private:
  std::map<std::string, std::string> values_;
};

constexpr const char* counts[] = {
    "tensor-model-parallel-size", "pipeline-model-parallel-size", "context-parallel-size", "expert-model-parallel-size",
    "num-layers", "hidden-size", "num-attention-heads", "num-query-groups", "kv-channels", "num-experts",
    "moe-router-topk", "global-batch-size", "micro-batch-size", "seq-length", "num-layers-per-virtual-pipeline-stage"};

/// False if an argument that changes the mesh is there but cannot be resolved.
bool read_size(const Arguments& arguments, const std::string& name, std::int32_t& size) {
  if (!arguments.has(name)) return true;
  const std::optional<std::int64_t> value = arguments.count(name);
  if (!value || *value > 1'000'000) return false;
  size = static_cast<std::int32_t>(*value);
  return true;
}

void read_model(const Arguments& a, Workload& w) {
  set_value(w.layers, a.count("num-layers"), source);
  set_value(w.hidden_size, a.count("hidden-size"), source);
  set_value(w.heads, a.count("num-attention-heads"), source);
  if (a.has("group-query-attention")) set_value(w.kv_heads, a.count("num-query-groups"), source);
  set_value(w.head_dim, a.count("kv-channels"), source);
  set_value(w.experts, a.count("num-experts"), source);
  set_value(w.experts_per_token, a.count("moe-router-topk"), source);
  const char* precision = a.has("fp8-format") ? "fp8" : a.has("bf16") ? "bf16" : a.has("fp16") ? "fp16" : "";
  if (*precision != '\0') set_value(w.precision, std::optional<std::string>(precision), source);
}

std::vector<std::int32_t> ranks_in_brackets(std::string_view line) {
  std::vector<std::int32_t> ranks;
  const std::size_t open = line.find('[');
  if (open == std::string_view::npos) return ranks;
  line = line.substr(open + 1, line.find(']') - open - 1);
  while (!line.empty()) {
    const std::size_t end = std::min(line.find(','), line.size());
    const std::string_view digits = trim(line.substr(0, end));
    std::int32_t rank = -1;
    std::from_chars(digits.data(), digits.data() + digits.size(), rank);
    if (rank >= 0) ranks.push_back(rank);
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return ranks;
}

std::vector<std::vector<std::int32_t>>* section_of(std::string_view line, Workload& w) {
  const auto has = [&](std::string_view part) { return line.find(part) != std::string_view::npos; };
  if (has("TENSOR PARALLEL (TP) GROUPS") || has("UNIQUE TP GROUPS")) return &w.megatron_tp;
  if (has("PIPELINE PARALLEL (PP) GROUPS") || has("UNIQUE PP GROUPS")) return &w.megatron_pp;
  if (has("DATA PARALLEL (DP) GROUPS") || has("UNIQUE DP GROUPS")) return &w.megatron_dp;
  if (has("EXPERT PARALLEL (EP) GROUPS") || has("UNIQUE EP GROUPS") || has("EXPERT GROUPS")) return &w.megatron_ep;
  if (has("FULL MODEL RANK GROUPS")) return &w.megatron_model;
  return nullptr;
}

bool is_group_line(std::string_view line) {
  for (const std::string_view prefix : {"TP ", "PP ", "DP ", "EP ", "Model "})
    if (line.substr(0, prefix.size()) == prefix) line.remove_prefix(prefix.size());
  return line.substr(0, 6) == "Group " && line.find('[') != std::string_view::npos;
}

/// "TP Size: 4" and "TP (Tensor Parallel) Size: 4".
std::optional<std::int64_t> scalar(std::string_view line, std::string_view name) {
  if (line.substr(0, name.size()) != name) return std::nullopt;
  const std::size_t colon = line.find("Size:");
  if (colon == std::string_view::npos) return std::nullopt;
  return whole(trim(line.substr(colon + 5)));
}

}  // namespace

std::optional<Companion> read_megatron_arguments(std::string_view text, std::string& why) {
  const Arguments a(text);
  Companion out;
  Workload& w = out.workload;
  Mesh mesh;
  const bool sizes = a.has("tensor-model-parallel-size") || a.has("pipeline-model-parallel-size");
  if (std::none_of(std::begin(counts), std::end(counts), [&](const char* name) { return a.has(name); })) {
    why = "it holds no Megatron arguments";
    return std::nullopt;
  }
  for (const char* name : counts)
    if (std::string one = a.why_unusable(name); !one.empty()) out.unusable.push_back(std::move(one));
  if (sizes && read_size(a, "tensor-model-parallel-size", mesh.tp) &&
      read_size(a, "pipeline-model-parallel-size", mesh.pp) && read_size(a, "context-parallel-size", mesh.cp) &&
      read_size(a, "expert-model-parallel-size", mesh.ep)) {
    mesh.tp_innermost_megatron = true;
    mesh.source = source;
    w.mesh = mesh;
    out.rest = RestDimension::dp_replicate;
  }
  read_model(a, w);
  set_value(w.framework, std::optional<std::string>("megatron-lm"), source);
  set_value(w.phase, std::optional<std::string>("training"), source);
  set_value(w.global_batch, a.count("global-batch-size"), source);
  set_value(w.microbatch_size, a.count("micro-batch-size"), source);
  set_value(w.seq_len, a.count("seq-length"), source);
  const std::optional<std::int64_t> per_stage = a.count("num-layers-per-virtual-pipeline-stage");
  if (per_stage && w.layers && w.mesh.known() && *w.layers.value % (*per_stage * mesh.pp) == 0)
    set_value(w.virtual_stages, std::optional(*w.layers.value / (*per_stage * mesh.pp)), source);
  return out;
}

std::optional<Companion> read_megatron_groups(std::string_view text, std::string& why) {
  Companion out;
  Workload& w = out.workload;
  Mesh mesh;
  std::int64_t world = 0;
  std::int64_t dp = 0;
  bool any = false;
  std::vector<std::vector<std::int32_t>>* section = nullptr;
  for_each_line(text, [&](std::string_view line) {
    if (auto* next = section_of(line, w)) section = next;
    if (line.substr(0, 6) == "Total ") section = nullptr;
    if (section != nullptr && is_group_line(line)) section->push_back(ranks_in_brackets(line));
    const auto read = [&](std::string_view name, std::int32_t& size) {
      if (const auto value = scalar(line, name); value && *value < 1'000'000) {
        size = static_cast<std::int32_t>(*value);
        any = true;
      }
    };
    read("TP ", mesh.tp);
    read("PP ", mesh.pp);
    read("CP ", mesh.cp);
    read("EP ", mesh.ep);
    if (const auto value = scalar(line, "DP ")) dp = *value;
    if (const auto value = scalar(line, "World ")) world = *value;
    if (const auto value = scalar(line, "Global Batch ")) set_value(w.global_batch, value, source);
  });
  const bool groups = !w.megatron_tp.empty() || !w.megatron_pp.empty() || !w.megatron_dp.empty() ||
                      !w.megatron_ep.empty() || !w.megatron_model.empty();
  if (!any && !groups) {
    why = "it holds neither sizes nor rank groups";
    return std::nullopt;
  }
  const std::int64_t others = std::int64_t{mesh.tp} * mesh.pp * mesh.cp;
  if (dp == 0 && world > 0 && world % others == 0) dp = world / others;
  if (any && dp > 0 && dp < 1'000'000) {
    mesh.dp_replicate = static_cast<std::int32_t>(dp);
    mesh.tp_innermost_megatron = true;
    mesh.source = source;
    w.mesh = mesh;
  }
  return out;
}

bool is_group_file_name(std::string_view name) {
  return name.substr(0, 22) == "unique_parallel_groups" && name.size() >= 26 && name.substr(name.size() - 4) == ".txt";
}

}  // namespace ccl
