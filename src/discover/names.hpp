// What a path says of its trace: rank, iteration, replica, host, run. Hints only; the content has the last word.
#pragma once
#include <cstdint>
#include <optional>
#include <regex>
#include <string>
#include <string_view>

namespace ccl {

struct NameFacts {
  std::int32_t rank = -1;
  bool rank_by_option = false;
  std::int32_t iteration = -1;
  std::string iteration_label;  // "iteration_10_exit"
  std::int32_t replica = -1;
  std::string host;
  std::string run;  // folder above the iteration folder, relative; "." = the trace folder; empty = no such
};

/// The user's --rank-regex. Throws FatalError(bad_request) if it is invalid or has no capture group.
std::optional<std::regex> compile_rank_regex(const std::string& pattern);

/// shown: path relative to the trace folder. lead: last folders of the trace folder itself, "" or ending in '/', asked
/// for iteration and replica only.
NameFacts read_name(std::string_view lead, std::string_view shown, const std::optional<std::regex>& rank_regex);

/// The part of the trace folder's own path that may carry iteration or replica ("iteration_10/replica_0/").
std::string lead_of(std::string_view root);

}  // namespace ccl
