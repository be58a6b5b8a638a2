// The one table of everything a user can ask for: --help, the command line, job files and --dump-config all read it.
// An option that is not in this table does not exist; one that is, works.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "config/config.hpp"

namespace ccl {

/// What the program is asked to do; all but analyze end without starting MPI.
enum class Action { analyze, help, version, list_metrics, dump_config, content_hash };

struct Request {
  Action action = Action::analyze;
  std::string hash_file;  // of content_hash
  Config config;
};

enum class OptionShape { single, list, flag };
enum class OptionValue { text, path };  // a path in a job file is relative to the job file

struct Option {
  std::string group, flags;  // flags as CLI11 takes them: "-o,--output"
  std::string job_key;       // "output.hdf5"; empty = command line only
  std::string value_name;    // "FILE"; empty for flags
  std::string help;
  OptionShape shape = OptionShape::single;
  OptionValue value = OptionValue::text;
  /// Takes all given texts (commas already split for lists; "true"/"false" for flags). what = how the user named it.
  std::function<void(Request&, const std::string& what, const std::vector<std::string>& texts)> set;
  /// Current value as texts, for --dump-config; empty function = not dumped.
  std::function<std::vector<std::string>(const Config&)> get;

  /// Longest flag without dashes: "output".
  std::string name() const;
};

const std::vector<Option>& options();

}  // namespace ccl
