#include "store/json_text.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "store/plain_text.hpp"

namespace ccl {

void JsonText::separate() {
  if (!first_ && !after_key_) out_ += ", ";
  first_ = false;
  after_key_ = false;
}

void JsonText::quoted(std::string_view value) {
  out_ += '"';
  for (const char c : valid_utf8(value)) {
    if (c == '"' || c == '\\') {
      out_ += '\\';
      out_ += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      std::array<char, 8> escaped{};
      std::snprintf(escaped.data(), escaped.size(), "\\u%04x", static_cast<unsigned>(c));
      out_ += escaped.data();
    } else {
      out_ += c;
    }
  }
  out_ += '"';
}

JsonText& JsonText::open(char bracket) {
  separate();
  out_ += bracket;
  first_ = true;
  return *this;
}

JsonText& JsonText::close(char bracket) {
  out_ += bracket;
  first_ = false;
  return *this;
}

JsonText& JsonText::key(std::string_view name) {
  separate();
  quoted(name);
  out_ += ": ";
  after_key_ = true;
  return *this;
}

JsonText& JsonText::text(std::string_view value) {
  separate();
  quoted(value);
  return *this;
}

JsonText& JsonText::integer(std::int64_t value) {
  separate();
  out_ += std::to_string(value);
  return *this;
}

JsonText& JsonText::number(double value) {
  if (!std::isfinite(value)) return null();
  separate();
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  out_.append(digits.data(), end.ptr);
  return *this;
}

JsonText& JsonText::boolean(bool value) {
  separate();
  out_ += value ? "true" : "false";
  return *this;
}

JsonText& JsonText::null() {
  separate();
  out_ += "null";
  return *this;
}

}  // namespace ccl
