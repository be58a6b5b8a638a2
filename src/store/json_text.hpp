// JSON written piece by piece: commas, escapes and absent numbers are right by construction.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace ccl {

class JsonText {
 public:
  /// '{' or '['; every one is closed with its partner.
  JsonText& open(char bracket);
  JsonText& close(char bracket);
  JsonText& key(std::string_view name);
  /// Invalid UTF-8 becomes U+FFFD.
  JsonText& text(std::string_view value);
  JsonText& integer(std::int64_t value);
  /// Shortest form that reads back equal; NaN and infinities, which JSON lacks, become null.
  JsonText& number(double value);
  JsonText& boolean(bool value);
  JsonText& null();
  std::string take() { return std::move(out_); }

 private:
  void separate();
  void quoted(std::string_view value);
  std::string out_;
  bool first_ = true;  // nothing stands before in this object or array
  bool after_key_ = false;
};

}  // namespace ccl
