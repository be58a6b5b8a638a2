#include "config/job.hpp"

#include <yaml-cpp/yaml.h>

#include <filesystem>
#include <set>

#include "config/values.hpp"
#include "core/file_trouble.hpp"

namespace ccl {
namespace {

namespace fs = std::filesystem;

/// The arguments themselves instead of the file that holds them (--megatron-args).
bool is_inline(const std::string& text) { return text.compare(0, 2, "--") == 0; }

struct JobReader {
  const std::string& path;
  Request& request;

  std::string at(const YAML::Node& node) const {
    return path + ":" + std::to_string(node.Mark().line + 1) + ": ";
  }

  // prefix = "" or "output."
  void read_map(const YAML::Node& map, const std::string& prefix) const {
    std::set<std::string> seen;
    for (const auto& entry : map) {
      if (!entry.first.IsScalar()) throw bad_request(at(entry.first) + "key", "must be a plain word");
      const std::string key = prefix + entry.first.Scalar();
      if (!seen.insert(key).second) throw bad_request(at(entry.first) + "key '" + key + "'", "given twice");
      read_entry(key, entry.first, entry.second);
    }
  }

  void read_entry(const std::string& key, const YAML::Node& where, const YAML::Node& value) const {
    std::vector<std::string> known;
    for (const Option& option : options()) {
      if (option.job_key.empty()) continue;
      if (option.job_key == key) return set(option, where, value);
      const std::size_t dot = option.job_key.find('.');
      known.push_back(option.job_key);
      if (dot == std::string::npos || option.job_key.substr(0, dot) != key) continue;
      if (!value.IsMap()) throw bad_request(at(where) + "key '" + key + "'", "must hold keys of its own");
      return read_map(value, key + ".");
    }
    throw bad_request(at(where) + "key '" + key + "'", "no such key in a job file",
                      did_you_mean(key, known, "See --dump-config for all keys."));
  }

  void set(const Option& option, const YAML::Node& where, const YAML::Node& value) const {
    const std::string what = at(where) + option.job_key;
    std::vector<std::string> texts;
    const auto add = [&](const YAML::Node& item) {
      if (!item.IsScalar()) throw bad_request(what, "must be a plain value");
      texts.push_back(option.value == OptionValue::path ? beside_job(item.Scalar()) : item.Scalar());
    };
    if (value.IsNull()) return;
    if (value.IsSequence()) {
      if (option.shape != OptionShape::list) throw bad_request(what, "takes one value, not a list");
      for (const YAML::Node& item : value) add(item);
      if (texts.empty()) return;
    } else {
      add(value);
    }
    // As on the command line: an empty value is mostly a variable that is not set.
    for (const std::string& text : texts)
      if (text.empty()) throw bad_request(what + " ''", "the value is empty", "Write a value, or leave the key out.");
    try {
      option.set(request, what, texts);
    } catch (const FatalError& error) {
      // Setters that several places share do not know about files.
      if (std::string_view(error.what()).starts_with(path)) throw;
      throw FatalError(error.exit_code(), at(where) + error.what());
    }
  }

  std::string beside_job(const std::string& text) const {
    if (text.empty() || is_inline(text) || fs::path(text).is_absolute()) return text;
    return (fs::path(path).parent_path() / text).lexically_normal().string();
  }
};

}  // namespace

void read_job(const std::string& path, Request& request) {
  if (const std::string trouble = file_trouble(path); !trouble.empty()) throw bad_request("job file " + path, trouble);
  YAML::Node root;
  try {
    root = YAML::LoadFile(path);
  } catch (const YAML::ParserException& problem) {
    throw bad_request("job file " + path + ":" + std::to_string(problem.mark.line + 1), "not YAML: " + problem.msg);
  } catch (const YAML::Exception&) {
    throw bad_request("job file " + path, "cannot be read");
  }
  if (!root.IsMap()) throw bad_request("job file " + path, "must be a mapping of keys", "See --dump-config.");
  JobReader{path, request}.read_map(root, "");
}

std::string job_text(const Config& config) {
  YAML::Emitter out;
  out << YAML::BeginMap;
  std::string open;  // the nested map that is being written
  const auto leave = [&] {
    if (!open.empty()) out << YAML::EndMap;
    open.clear();
  };
  for (const Option& option : options()) {
    if (option.job_key.empty() || !option.get) continue;
    std::vector<std::string> texts = option.get(config);
    if (option.value == OptionValue::path)
      for (std::string& text : texts)
        if (!is_inline(text)) text = fs::absolute(text).lexically_normal().string();
    const std::size_t dot = option.job_key.find('.');
    const std::string map = dot == std::string::npos ? "" : option.job_key.substr(0, dot);
    if (map != open) {
      leave();
      if (!map.empty()) out << YAML::Key << map << YAML::Value << YAML::BeginMap;
      open = map;
    }
    out << YAML::Key << (map.empty() ? option.job_key : option.job_key.substr(dot + 1)) << YAML::Value;
    if (option.shape == OptionShape::list)
      out << YAML::Flow << texts;
    else if (texts.empty())
      out << YAML::Null;  // not set; read as if the key were not there
    else
      out << texts.front();
  }
  leave();
  out << YAML::EndMap;
  return std::string(out.c_str()) + "\n";
}

}  // namespace ccl
