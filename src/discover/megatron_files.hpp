// Megatron-LM's companions: the arguments in a run script or log, and the group file unique_parallel_groups*.txt that
// the training run writes. Both in as text; what they say out.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "discover/companion.hpp"

namespace ccl {

/// Megatron-LM's arguments of mesh, batch, schedule and model: "--name value" and "--name=value"; $NAME, ${NAME} and
/// ${NAME:-value} are looked
/// up among the assignments NAME=value of the same text. What cannot be resolved is absent.
std::optional<Companion> read_megatron_arguments(std::string_view text, std::string& why);

/// Sizes and rank groups of a group file. Nothing, and why, if it has neither.
std::optional<Companion> read_megatron_groups(std::string_view text, std::string& why);

/// Whether a file name is that of a group file.
bool is_group_file_name(std::string_view name);

}  // namespace ccl
