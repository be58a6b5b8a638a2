// The YAML files of configs/, embedded at build time, and the user's --settings files laid over them. Used by every
// stage that has rules of its own: names of kernels, peaks of hardware, defaults.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "config/config.hpp"

namespace ccl {

struct EmbeddedConfig {
  std::string_view name;  // file name without .yaml
  std::string_view text;
};
/// Sorted by name. Its body is generated from configs/.
const std::vector<EmbeddedConfig>& embedded_configs();

/// Text of configs/<name>.yaml; throws std::logic_error for a name that is not embedded.
std::string_view embedded_config(std::string_view name);

/// configs/<name>.yaml with the part <name>: of each settings file laid over it, in order: maps are merged key by key,
/// anything else is replaced. A key that the embedded map lacks comes first in it, so that added rules are asked before
/// the built-in ones. Throws FatalError(bad_request) for a file that cannot be read or parsed, and for an unknown name
/// of a config, of one of its sections or of a key in an entry of hardware, with its line and a suggestion.
std::string merged_settings(const std::string& name, const Config& config);

}  // namespace ccl
