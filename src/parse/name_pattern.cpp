#include "parse/name_pattern.hpp"

#include <regex>

#include "core/lower_case.hpp"
#include "core/problems.hpp"

namespace ccl {
namespace {

}  // namespace

struct NamePattern::Regex {
  std::regex regex;
};

std::string name_to_match(std::string_view name) { return lower_case(name.substr(0, 2000)); }

NamePattern::NamePattern(const std::string& pattern) {
  const auto refuse = [&](const std::string& why) {
    throw FatalError(ExitCode::bad_request, "name pattern '" + pattern + "' cannot be used (" + why + "). See configs/kernels.yaml.");
  };
  if (pattern.size() > 2 && pattern.front() == '/' && pattern.back() == '/') {
    try {
      const auto flags = std::regex::ECMAScript | std::regex::icase | std::regex::optimize;
      regex_ = std::make_unique<Regex>(Regex{std::regex(pattern.substr(1, pattern.size() - 2), flags)});
    } catch (const std::regex_error& broken) {
      refuse(broken.what());
    }
    return;
  }
  std::string text = lower_case(pattern);
  at_start_ = !text.empty() && text.front() == '^';
  if (at_start_) text.erase(0, 1);
  at_end_ = !text.empty() && text.back() == '$';
  if (at_end_) text.pop_back();
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t star = std::min(text.find('*', from), text.size());
    parts_.push_back(text.substr(from, star - from));
    from = star + 1;
  }
  if (text.find_first_not_of('*') == std::string::npos) refuse("it matches every name");
}

NamePattern::~NamePattern() = default;
NamePattern::NamePattern(NamePattern&&) noexcept = default;
NamePattern& NamePattern::operator=(NamePattern&&) noexcept = default;

bool NamePattern::matches(std::string_view name) const {
  if (regex_) return std::regex_search(name.begin(), name.end(), regex_->regex);
  std::size_t from = 0;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const std::string& part = parts_[i];
    if (i + 1 == parts_.size() && at_end_) {
      if (i == 0 && at_start_) return name == part;
      return name.size() >= from + part.size() && name.ends_with(part);
    }
    const std::size_t found = i == 0 && at_start_ ? (name.starts_with(part) ? 0 : std::string_view::npos) : name.find(part, from);
    if (found == std::string_view::npos) return false;
    from = found + part.size();
  }
  return true;
}

}  // namespace ccl
