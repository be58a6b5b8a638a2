#include "parse/config_files.hpp"

#include <algorithm>
#include <stdexcept>

#include <yaml-cpp/yaml.h>

#include "core/file_trouble.hpp"
#include "core/problems.hpp"

namespace ccl {
namespace {

[[noreturn]] void refuse(const std::string& file, const std::string& why, const std::string& suggestion) {
  throw FatalError(ExitCode::bad_request, "settings file '" + file + "' cannot be used (" + why + "). " + suggestion);
}

void refuse_unknown(const std::string& file, const std::string& where, const YAML::Node& given,
                    const std::vector<std::string>& known) {
  if (!given.IsMap()) refuse(file, where + " is no map of keys", "See configs/README.md.");
  for (const auto& entry : given) {
    const auto key = entry.first.as<std::string>();
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    const std::string near = closest(key, known);
    refuse(file, "line " + std::to_string(entry.first.Mark().line + 1) + ": unknown key '" + key + "' in " + where,
           near.empty() ? "See configs/README.md." : "Did you mean '" + near + "'?");
  }
}

constexpr int deepest_level = 32;

/// In every map, however deep, the keys must be plain words: YAML also takes nothing and whole lists for keys.
void refuse_odd_keys(const std::string& file, const YAML::Node& node, int level = 0) {
  if (level > deepest_level) refuse(file, "it is nested too deep", "See configs/README.md.");
  if (node.IsSequence())
    for (const auto& item : node) refuse_odd_keys(file, item, level + 1);
  if (!node.IsMap()) return;
  for (const auto& entry : node) {
    if (!entry.first.IsScalar()) refuse(file, "a key is no plain word", "See configs/README.md.");
    refuse_odd_keys(file, entry.second, level + 1);
  }
}

std::vector<std::string> keys(const YAML::Node& map) {
  std::vector<std::string> all;
  for (const auto& entry : map) all.push_back(entry.first.as<std::string>());
  return all;
}

YAML::Node lay_over(const YAML::Node& below, const YAML::Node& above) {
  if (!below.IsMap() || !above.IsMap()) return YAML::Clone(above);
  YAML::Node merged(YAML::NodeType::Map);
  const std::vector<std::string> old = keys(below);
  for (const auto& entry : above) {
    const auto key = entry.first.as<std::string>();
    if (std::find(old.begin(), old.end(), key) == old.end()) merged[key] = YAML::Clone(entry.second);
  }
  for (const std::string& key : old) {
    const YAML::Node over = above[key];
    merged[key] = over.IsDefined() ? lay_over(below[key], over) : YAML::Clone(below[key]);
  }
  return merged;
}

/// Entries of hardware.yaml are maps of one kind: a key that no built-in entry has is misspelt.
void refuse_unknown_in_entries(const std::string& file, const YAML::Node& given, const YAML::Node& embedded) {
  std::vector<std::string> known;
  for (const auto& section : embedded)
    for (const auto& entry : section.second)
      for (const std::string& key : keys(entry.second)) known.push_back(key);
  for (const auto& section : given) {
    if (!section.second.IsMap()) continue;
    for (const auto& entry : section.second) {
      std::string name = "'";  // by append: GCC 12 warns of sums of such texts
      name.append(entry.first.as<std::string>()).append("'");
      if (entry.second.IsMap()) refuse_unknown(file, name, entry.second, known);
    }
  }
}

YAML::Node load_settings(const std::string& file) {
  if (const std::string trouble = file_trouble(file); !trouble.empty()) refuse(file, trouble, "Check the path.");
  try {
    return YAML::LoadFile(file);
  } catch (const YAML::BadFile&) {
    refuse(file, "it cannot be opened", "Check the path.");
  } catch (const YAML::Exception& broken) {
    refuse(file, broken.what(), "Check its YAML.");
  }
}

}  // namespace

std::string_view embedded_config(std::string_view name) {
  for (const EmbeddedConfig& config : embedded_configs())
    if (config.name == name) return config.text;
  throw std::logic_error("no embedded config '" + std::string(name) + "'");
}

std::string merged_settings(const std::string& name, const Config& config) {
  const std::string text(embedded_config(name));
  if (config.settings_files.empty()) return text;
  std::vector<std::string> names;
  for (const EmbeddedConfig& embedded : embedded_configs()) names.emplace_back(embedded.name);
  YAML::Node merged = YAML::Load(text);
  const YAML::Node embedded = YAML::Load(text);
  const std::vector<std::string> sections = keys(merged);
  for (const std::string& file : config.settings_files) {
    const YAML::Node settings = load_settings(file);
    if (settings.IsNull()) continue;
    refuse_odd_keys(file, settings);
    refuse_unknown(file, "the file", settings, names);
    const YAML::Node part = settings[name];
    if (!part.IsDefined()) continue;
    refuse_unknown(file, "'" + name + "'", part, sections);
    if (name == "hardware") refuse_unknown_in_entries(file, part, embedded);
    merged = lay_over(merged, part);
  }
  return YAML::Dump(merged) + "\n";
}

}  // namespace ccl
