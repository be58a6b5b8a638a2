// Files that appear under their name only when they are whole.
#pragma once
#include <string>
#include <string_view>

namespace ccl {

/// A name in the target's folder that nobody can foresee.
std::string temporary_name(const std::string& target);

/// Writes the text under a temporary name (mode 0666 & ~umask) and renames it; an existing target is replaced. what is
/// for messages: "text report". Throws FatalError(runtime_failure); then no file is left behind.
void write_text_file(const std::string& what, const std::string& target, std::string_view text);

}  // namespace ccl
