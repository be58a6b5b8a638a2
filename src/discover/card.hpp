// The workload card (YAML, versions 1 to 6 and the flat schema before them) in; what it says out.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "discover/companion.hpp"

namespace ccl {

/// Whether a YAML text that may not even parse means to be a card.
bool looks_like_card(std::string_view text);

/// Fields of the ccl-bench workload cards, version by version, all optional; sweeps ("1, 2, 4", lists), "N/A" and
/// null count as absent, and values that cannot be meant (-4 GPUs) too, but they are told.
/// Nothing, and why, if the text is not a usable card.
std::optional<Companion> read_card(const std::string& text, std::string& why);

/// Every value that is read, as the dotted paths it is looked for at; the first is today's (jobs/README.md lists them).
const std::vector<std::vector<std::string>>& card_keys();

/// Keys of a usable card that are none of those but nearly one, each as a sentence with its line. Other keys are
/// allowed: cards say much that is not read here.
std::vector<std::string> misspelt_card_keys(const std::string& text);

}  // namespace ccl
