// The workload card (YAML, versions 1 to 6 and the flat schema before them) in; what it says out.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "discover/companion.hpp"

namespace ccl {

/// Whether a YAML text that may not even parse means to be a card.
bool looks_like_card(std::string_view text);

/// Fields of the ccl-bench workload cards, version by version, all optional; sweeps ("1, 2, 4", lists), "N/A" and
/// null count as absent.
/// Nothing, and why, if the text is not a usable card.
std::optional<Companion> read_card(const std::string& text, std::string& why);

}  // namespace ccl
