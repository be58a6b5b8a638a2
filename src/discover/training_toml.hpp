// The configuration of a TorchTitan run (TOML) in; what it says out. Unknown keys are tolerated.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "discover/companion.hpp"

namespace ccl {

/// Whether a TOML text that may not even parse means to be a training configuration.
bool looks_like_training_toml(std::string_view text);

/// Keys of TorchTitan's [training] and [parallelism]. data_parallel_shard_degree −1 = all remaining ranks, also where it is
/// not there. Nothing, and why, if the text is no TOML or has neither [training] nor [parallelism].
std::optional<Companion> read_training_toml(std::string_view text, std::string& why);

}  // namespace ccl
