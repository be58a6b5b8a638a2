// Texts of the command line and of job files turned into values, with one kind of message for everything that does
// not fit: problem (why) suggestion?
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/problems.hpp"

namespace ccl {

/// "problem (why). Suggestion" as a FatalError of exit code 2.
FatalError bad_request(const std::string& problem, const std::string& why, const std::string& suggestion = "");

/// "Did you mean 'x'?" for a mistyped word, else the fallback.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known, const std::string& fallback);

/// `what` names the option or key in messages. All throw bad_request().
std::int64_t to_integer(const std::string& what, const std::string& text, std::int64_t least, std::int64_t most);
bool to_bool(const std::string& what, const std::string& text);
std::string to_choice(const std::string& what, const std::string& text, const std::vector<std::string>& choices);
double to_positive_number(const std::string& what, const std::string& text);
/// Shortest text that reads back as the same number.
std::string number_text(double value);
/// Seconds from "90", "90s", "10m", "1.5h" or "HH:MM:SS" / "MM:SS".
double to_seconds(const std::string& what, const std::string& text);
/// A regular expression with at least one capture group; returned unchanged.
std::string to_capturing_regex(const std::string& what, const std::string& text);
/// Refuses "--flag=value" and "-o=value"; flags with their dashes.
void refuse_flag_values(const std::vector<std::string>& args, const std::vector<std::string>& flags);
/// "1,2,3" -> three texts; empty parts are dropped.
std::vector<std::string> split_commas(const std::vector<std::string>& texts);

}  // namespace ccl
