#include "parse/classify.hpp"

#include <algorithm>
#include <optional>

#include <yaml-cpp/yaml.h>

#include "core/problems.hpp"
#include "parse/config_files.hpp"
#include "parse/name_answers.hpp"
#include "parse/name_pattern.hpp"

namespace ccl {
namespace {

[[noreturn]] void refuse(const std::string& where, const std::string& why) {
  throw FatalError(ExitCode::bad_request, "settings 'kernels." + where + "' cannot be used (" + why + "). See configs/kernels.yaml.");
}

/// One key of a map of rules and its patterns.
struct NamedPatterns {
  std::string name;
  std::vector<NamePattern> patterns;
  bool match(std::string_view text) const {
    return std::any_of(patterns.begin(), patterns.end(), [&](const NamePattern& p) { return p.matches(text); });
  }
};

struct CommunicationRule {
  NamedPatterns names;
  CollectiveOp op = CollectiveOp::unknown;
  Dimension dimension = Dimension::unknown;
};

NamedPatterns patterns(const std::string& where, const std::string& name, const YAML::Node& list) {
  NamedPatterns out{name, {}};
  if (!list.IsSequence()) refuse(where + "." + name, "it is no list of patterns");
  for (const auto& pattern : list) {
    if (!pattern.IsScalar()) refuse(where + "." + name, "a pattern is no text");
    out.patterns.emplace_back(pattern.Scalar());
  }
  return out;
}

std::vector<NamedPatterns> pattern_map(const YAML::Node& root, const std::string& section) {
  const YAML::Node map = root[section];
  if (!map.IsDefined() || !map.IsMap()) refuse(section, "it is no map");
  std::vector<NamedPatterns> all;
  for (const auto& entry : map) all.push_back(patterns(section, entry.first.as<std::string>(), entry.second));
  return all;
}

template <class Enum>
Enum from_text(const std::string& where, const YAML::Node& word, int count) {
  if (!word.IsScalar()) refuse(where, "a value is no plain word");
  const std::string& text = word.Scalar();
  std::vector<std::string> known;
  for (int i = 0; i < count; ++i) {
    known.emplace_back(to_text(static_cast<Enum>(i)));
    if (known.back() == text) return static_cast<Enum>(i);
  }
  const std::string near = closest(text, known);
  refuse(where, "unknown word '" + text + "'" + (near.empty() ? "" : ", did you mean '" + near + "'?"));
}

CommunicationRule communication_rule(const std::string& name, const YAML::Node& node) {
  const std::string where = "communication." + name;
  if (!node.IsMap()) refuse(where, "it is no map");
  CommunicationRule rule;
  for (const auto& entry : node) {
    const auto key = entry.first.as<std::string>();
    if (key == "match") rule.names = patterns("communication", name, entry.second);
    else if (key == "operation") rule.op = from_text<CollectiveOp>(where, entry.second, collective_op_count);
    else if (key == "dimension") rule.dimension = from_text<Dimension>(where, entry.second, dimension_count);
    else refuse(where, "unknown key '" + key + "'; known: match, operation, dimension");
  }
  if (rule.names.patterns.empty()) refuse(where, "it has no key match");
  return rule;
}

/// Number of the first rule that matches.
std::optional<std::size_t> first_match(const std::vector<NamedPatterns>& rules, std::string_view text) {
  for (std::size_t i = 0; i < rules.size(); ++i)
    if (rules[i].match(text)) return i;
  return {};
}

TrainingRules training_rules(const std::vector<std::string>& texts) {
  const bool embedded = texts.empty() || texts == std::vector{std::string(embedded_config("megatron")),
                                                              std::string(embedded_config("torchtitan"))};
  return embedded ? TrainingRules() : TrainingRules(texts);
}

}  // namespace

struct Classifier::Rules {
  explicit Rules(const std::vector<std::string>& training_texts) : training(training_rules(training_texts)) {}
  TrainingRules training;
  std::vector<CommunicationRule> communication;
  std::vector<NamedPatterns> operation_names;
  std::vector<CollectiveOp> operations;          // parallel to operation_names
  std::vector<NamedPatterns> compute;
  std::vector<NamedPatterns> slices, stages, steady_state;
  std::vector<std::pair<std::string, std::vector<std::string>>> stream_roles;  // role, its stages
  std::vector<std::string> class_names;          // those of compute, "other", "communication"
  NameAnswers<KernelClass> known_kernels;
  NameAnswers<bool> kept_slices;
  KernelClass ask_kernel(std::string_view name) const;
};

Classifier::Classifier(std::string_view yaml_text, const std::vector<std::string>& training_texts)
    : rules_(std::make_unique<Rules>(training_texts)) {
  YAML::Node root;
  try {
    root = YAML::Load(std::string(yaml_text));
  } catch (const YAML::Exception& broken) {
    refuse("", broken.what());
  }
  const YAML::Node communication = root["communication"];
  if (!communication.IsDefined() || !communication.IsMap()) refuse("communication", "it is no map");
  for (const auto& entry : communication)
    rules_->communication.push_back(communication_rule(entry.first.as<std::string>(), entry.second));
  rules_->operation_names = pattern_map(root, "operations");
  for (const NamedPatterns& rule : rules_->operation_names)
    rules_->operations.push_back(from_text<CollectiveOp>("operations", YAML::Node(rule.name), collective_op_count));
  rules_->compute = pattern_map(root, "compute_classes");
  rules_->slices = pattern_map(root, "slices");
  // Rules of programs that name their stages; others have none.
  if (root["stages"].IsDefined()) rules_->stages = pattern_map(root, "stages");
  if (root["steady_state"].IsDefined()) rules_->steady_state = pattern_map(root, "steady_state");
  const YAML::Node roles = root["stream_roles"];
  if (roles.IsDefined() && !roles.IsMap()) refuse("stream_roles", "it is no map");
  for (const auto& entry : roles) {
    const auto role = entry.first.as<std::string>();
    if (!entry.second.IsSequence()) refuse("stream_roles." + role, "it is no list of stages");
    rules_->stream_roles.emplace_back(role, std::vector<std::string>());
    for (const auto& stage : entry.second) {
      const auto named = [&](const NamedPatterns& rule) { return stage.IsScalar() && rule.name == stage.Scalar(); };
      if (std::none_of(rules_->stages.begin(), rules_->stages.end(), named))
        refuse("stream_roles." + role, "it names a stage that `stages` lacks");
      rules_->stream_roles.back().second.push_back(stage.Scalar());
    }
  }
  for (const NamedPatterns& rule : rules_->compute) rules_->class_names.push_back(rule.name);
  rules_->class_names.emplace_back("other");
  rules_->class_names.emplace_back("communication");
}

Classifier::~Classifier() = default;
Classifier::Classifier(Classifier&&) noexcept = default;
Classifier& Classifier::operator=(Classifier&&) noexcept = default;

KernelClass Classifier::Rules::ask_kernel(std::string_view name) const {
  const std::string text = name_to_match(name);
  const auto other = static_cast<std::uint16_t>(compute.size());
  for (const CommunicationRule& rule : communication) {
    if (!rule.names.match(text)) continue;
    KernelClass found{EventKind::communication, rule.op, rule.dimension, static_cast<std::uint16_t>(other + 1)};
    if (found.op != CollectiveOp::unknown) return found;
    if (const auto i = first_match(operation_names, text)) found.op = operations[*i];
    return found;
  }
  KernelClass found;
  found.class_index = static_cast<std::uint16_t>(first_match(compute, text).value_or(other));
  return found;
}

KernelClass Classifier::kernel(std::string_view name) const {
  return rules_->known_kernels.get(name, [&](std::string_view asked) { return rules_->ask_kernel(asked); });
}

const std::vector<std::string>& Classifier::class_names() const { return rules_->class_names; }

bool Classifier::keeps_slice(std::string_view name) const {
  return rules_->kept_slices.get(
      name, [&](std::string_view asked) { return !slice_rule(asked).empty() || rules_->training.role(asked) != SliceRole::none; });
}

const TrainingRules& Classifier::training() const { return rules_->training; }

std::string_view Classifier::stage(std::string_view name) const {
  const auto found = first_match(rules_->stages, name_to_match(name));
  return found ? std::string_view(rules_->stages[*found].name) : std::string_view();
}

std::string_view Classifier::stream_role(std::string_view stage) const {
  for (const auto& [role, stages] : rules_->stream_roles)
    if (std::find(stages.begin(), stages.end(), stage) != stages.end()) return role;
  return {};
}

bool Classifier::marks_steady_state(std::string_view name) const {
  return first_match(rules_->steady_state, name_to_match(name)).has_value();
}

std::string_view Classifier::slice_rule(std::string_view name) const {
  const auto found = first_match(rules_->slices, name_to_match(name));
  return found ? std::string_view(rules_->slices[*found].name) : std::string_view();
}

}  // namespace ccl
