#include "parse/training_rules.hpp"

#include <algorithm>
#include <charconv>
#include <mutex>
#include <regex>

#include <yaml-cpp/yaml.h>

#include "core/problems.hpp"
#include "parse/config_files.hpp"
#include "parse/name_answers.hpp"
#include "parse/name_pattern.hpp"

namespace ccl {
namespace {

constexpr std::string_view role_names[slice_role_count] = {
    "none",      "forward_microbatch", "backward_microbatch", "weight_microbatch", "combined_microbatch",
    "forward_part", "backward_part", "recompute",        "grad_norm",
    "loss",      "data_loading",       "optimizer",           "dp_communication",  "pp_communication", "tp_communication",
    "ep_communication", "cp_communication"};

[[noreturn]] void refuse(const std::string& where, const std::string& why) {
  throw FatalError(ExitCode::bad_request,
                   "settings '" + where + "' cannot be used (" + why + "). See configs/megatron.yaml.");
}

SliceRole role_of(const std::string& name) {
  for (int i = 1; i < slice_role_count; ++i)
    if (role_names[i] == name) return static_cast<SliceRole>(i);
  std::vector<std::string> known(std::begin(role_names) + 1, std::end(role_names));
  const std::string near = closest(name, known);
  refuse("roles." + name, near.empty() ? "unknown role" : "unknown role, did you mean '" + near + "'?");
}

std::vector<std::string> texts(const std::string& where, const YAML::Node& list) {
  if (!list.IsSequence()) refuse(where, "it is no list of patterns");
  std::vector<std::string> all;
  for (const auto& entry : list) {
    if (!entry.IsScalar()) refuse(where, "a pattern is no text");
    all.push_back(entry.Scalar());
  }
  return all;
}

std::int32_t first_number(const std::vector<std::regex>& patterns, std::string_view name) {
  for (const std::regex& pattern : patterns) {
    std::cmatch found;
    if (!std::regex_search(name.data(), name.data() + name.size(), found, pattern) || found.size() < 2) continue;
    std::int32_t number = -1;
    if (std::from_chars(found[1].first, found[1].second, number).ec == std::errc() && number >= 0) return number;
  }
  return -1;
}

}  // namespace

std::string_view to_text(SliceRole role) { return role_names[static_cast<std::size_t>(role)]; }

struct TrainingRules::Rules {
  explicit Rules(const std::vector<std::string>& yaml_texts);
  struct Role {
    SliceRole role = SliceRole::none;
    std::vector<NamePattern> patterns;
  };
  SliceRole ask_role(std::string_view name) const;
  std::vector<Role> roles;
  NameAnswers<SliceRole> known_roles;
  std::vector<std::regex> microbatch, chunk;
};

TrainingRules::Rules::Rules(const std::vector<std::string>& yaml_texts) {
  for (const std::string& text : yaml_texts) {
    YAML::Node root;
    try {
      root = YAML::Load(text);
    } catch (const YAML::Exception& broken) {
      refuse("roles", broken.what());
    }
    const YAML::Node map = root["roles"];
    if (!map.IsDefined() || !map.IsMap()) refuse("roles", "it is no map");
    for (const auto& entry : map) {
      const auto name = entry.first.as<std::string>();
      Role role{role_of(name), {}};
      for (const std::string& pattern : texts("roles." + name, entry.second)) role.patterns.emplace_back(pattern);
      roles.push_back(std::move(role));
    }
    for (const auto& [key, into] : {std::pair("microbatch_number", &microbatch), {"chunk_number", &chunk}}) {
      if (!root[key].IsDefined()) continue;
      for (const std::string& pattern : texts(key, root[key])) {
        try {
          into->emplace_back(pattern, std::regex::ECMAScript | std::regex::icase);
        } catch (const std::regex_error& broken) {
          refuse(key, "'" + pattern + "': " + broken.what());
        }
      }
    }
  }
}

/// Several threads may ask first.
struct TrainingRules::ReadOnce {
  std::once_flag asked;
  std::unique_ptr<const Rules> rules;  // null: not yet read
};

TrainingRules::TrainingRules() : rules_(std::make_unique<ReadOnce>()) {}
TrainingRules::TrainingRules(const std::vector<std::string>& yaml_texts) : TrainingRules() {
  rules_->rules = std::make_unique<Rules>(yaml_texts);
}
TrainingRules::~TrainingRules() = default;
TrainingRules::TrainingRules(TrainingRules&&) noexcept = default;
TrainingRules& TrainingRules::operator=(TrainingRules&&) noexcept = default;

const TrainingRules::Rules& TrainingRules::rules() const {
  std::call_once(rules_->asked, [&] {
    if (rules_->rules) return;
    rules_->rules = std::make_unique<Rules>(
        std::vector{std::string(embedded_config("megatron")), std::string(embedded_config("torchtitan"))});
  });
  return *rules_->rules;
}

SliceRole TrainingRules::Rules::ask_role(std::string_view name) const {
  const std::string text = name_to_match(name);
  for (const Role& role : roles)
    if (std::any_of(role.patterns.begin(), role.patterns.end(), [&](const NamePattern& p) { return p.matches(text); }))
      return role.role;
  return SliceRole::none;
}

SliceRole TrainingRules::role(std::string_view name) const {
  const Rules& all = rules();
  return all.known_roles.get(name, [&](std::string_view asked) { return all.ask_role(asked); });
}

// Only short names are searched: a regex engine may recurse per character.
std::int32_t TrainingRules::microbatch_number(std::string_view name) const {
  return first_number(rules().microbatch, name.substr(0, 200));
}

std::int32_t TrainingRules::chunk_number(std::string_view name) const {
  return first_number(rules().chunk, name.substr(0, 200));
}

}  // namespace ccl
