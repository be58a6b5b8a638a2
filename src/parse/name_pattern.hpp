// A pattern of configs/kernels.yaml: text with * for any text, ^ at the start, $ at the end, or /regex/; upper and
// lower case alike. Plain text is matched without a regex engine: names of templated kernels are long.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ccl {

/// What of a name is looked at, lower case: its first 2000 characters (a regex engine may recurse per character).
std::string name_to_match(std::string_view name);

class NamePattern {
 public:
  /// Throws FatalError(bad_request) for an empty pattern or a broken regular expression.
  explicit NamePattern(const std::string& pattern);
  ~NamePattern();
  NamePattern(NamePattern&&) noexcept;
  NamePattern& operator=(NamePattern&&) noexcept;

  /// name: as name_to_match() returns it.
  bool matches(std::string_view name) const;

 private:
  struct Regex;
  std::vector<std::string> parts_;  // between the stars, to be found in this order
  bool at_start_ = false, at_end_ = false;
  std::unique_ptr<Regex> regex_;
};

}  // namespace ccl
