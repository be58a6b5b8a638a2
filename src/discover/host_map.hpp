// The file of --host-map: which rank ran on which host.
#pragma once
#include <cstdint>
#include <map>
#include <string>

namespace ccl {

/// Lines "rank host" (blank, tab, ',' or ':' between); '#' begins a comment; a first line that begins with "rank" is a
/// heading.
/// Throws FatalError(bad_request) naming the line that is neither.
std::map<std::int32_t, std::string> parse_host_map(const std::string& text, const std::string& file);

}  // namespace ccl
