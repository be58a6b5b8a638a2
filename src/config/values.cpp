#include "config/values.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <regex>

namespace ccl {
namespace {

// A number without a sign at the start of text; what is left of text goes to rest. NaN if there is none.
double leading_number(std::string_view text, std::string_view& rest) {
  double value = 0;
  if (text.starts_with('-')) return std::nan("");
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc()) return std::nan("");
  rest = text.substr(static_cast<std::size_t>(end - text.data()));
  return value;
}

double seconds_of(std::string_view text) {
  double total = 0;
  if (text.find(':') != std::string_view::npos) {
    for (int parts = 0; parts < 3; ++parts) {
      std::string_view rest;
      const double part = leading_number(text, rest);
      total = total * 60 + part;
      if (rest.empty()) return parts == 0 ? std::nan("") : total;
      if (rest.front() != ':') return std::nan("");
      text = rest.substr(1);
    }
    return std::nan("");
  }
  std::string_view unit;
  total = leading_number(text, unit);
  if (unit.empty() || unit == "s") return total;
  if (unit == "m" || unit == "min") return total * 60;
  if (unit == "h") return total * 3600;
  return std::nan("");
}

}  // namespace

FatalError bad_request(const std::string& problem, const std::string& why, const std::string& suggestion) {
  return {ExitCode::bad_request, problem + " (" + why + ")" + (suggestion.empty() ? "" : ". " + suggestion)};
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known, const std::string& fallback) {
  const std::string near = closest(word, known);
  return near.empty() ? fallback : "Did you mean '" + near + "'?";
}

double to_positive_number(const std::string& what, const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value) || value <= 0)
    throw bad_request(what + " '" + text + "'", "not a number above 0");
  return value;
}

std::string number_text(double value) {
  std::array<char, 32> text{};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value);
  return {text.data(), end};
}

std::int64_t to_integer(const std::string& what, const std::string& text, std::int64_t least, std::int64_t most) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    throw bad_request(what + " '" + text + "'", "not a whole number");
  if (value < least || value > most)
    throw bad_request(what + " " + text, "must be from " + std::to_string(least) + " to " + std::to_string(most));
  return value;
}

bool to_bool(const std::string& what, const std::string& text) {
  if (text == "true" || text == "True" || text == "yes" || text == "on") return true;
  if (text == "false" || text == "False" || text == "no" || text == "off") return false;
  throw bad_request(what + " '" + text + "'", "must be true or false");
}

std::string to_choice(const std::string& what, const std::string& text, const std::vector<std::string>& choices) {
  std::string all;
  for (const std::string& choice : choices) {
    if (choice == text) return text;
    all += (all.empty() ? "" : ", ") + choice;
  }
  throw bad_request(what + " '" + text + "'", "must be one of " + all, did_you_mean(text, choices, ""));
}

double to_seconds(const std::string& what, const std::string& text) {
  const double seconds = seconds_of(text);
  if (!(seconds > 0) || !std::isfinite(seconds))
    throw bad_request(what + " '" + text + "'", "not a time", "Write 90s, 10m, 1h or HH:MM:SS.");
  return seconds;
}

std::string to_capturing_regex(const std::string& what, const std::string& text) {
  std::size_t groups = 0;
  try {
    groups = std::regex(text, std::regex::ECMAScript).mark_count();
  } catch (const std::regex_error&) {
    throw bad_request(what + " '" + text + "'", "not a regular expression");
  }
  if (groups == 0)
    throw bad_request(what + " '" + text + "'", "no capture group", R"(Put the number in parentheses: 'rank_(\d+)'.)");
  return text;
}

void refuse_flag_values(const std::vector<std::string>& args, const std::vector<std::string>& flags) {
  for (const std::string& arg : args) {
    if (arg == "--") return;
    for (const std::string& flag : flags)
      if (arg.starts_with(flag + "=")) throw bad_request("option " + flag, "takes no value");
    // "=FILE" would be the value, and a file of that name is never meant.
    if (arg.size() > 2 && arg[0] == '-' && arg[1] != '-' && arg[2] == '=')
      throw bad_request("option " + arg, "takes its value without '='", "Write " + arg.substr(0, 2) + " " + arg.substr(3) + ".");
  }
}

std::vector<std::string> split_commas(const std::vector<std::string>& texts) {
  std::vector<std::string> parts;
  for (const std::string& text : texts)
    for (std::size_t from = 0; from <= text.size();) {
      const std::size_t to = std::min(text.find(',', from), text.size());
      if (to > from) parts.push_back(text.substr(from, to - from));
      from = to + 1;
    }
  return parts;
}

}  // namespace ccl
