#include "parse/json_text.hpp"

#include <algorithm>

namespace ccl {
namespace {

void append_utf8(std::string& out, std::uint32_t code) {
  if (code < 0x20) code = ' ';
  if (code >= 0xD800 && code <= 0xDFFF) code = 0xFFFD;
  if (code < 0x80) {
    out.push_back(static_cast<char>(code));
  } else if (code < 0x800) {
    out.push_back(static_cast<char>(0xC0 | (code >> 6)));
    out.push_back(static_cast<char>(0x80 | (code & 0x3F)));
  } else if (code < 0x10000) {
    out.push_back(static_cast<char>(0xE0 | (code >> 12)));
    out.push_back(static_cast<char>(0x80 | ((code >> 6) & 0x3F)));
    out.push_back(static_cast<char>(0x80 | (code & 0x3F)));
  } else {
    out.push_back(static_cast<char>(0xF0 | (code >> 18)));
    out.push_back(static_cast<char>(0x80 | ((code >> 12) & 0x3F)));
    out.push_back(static_cast<char>(0x80 | ((code >> 6) & 0x3F)));
    out.push_back(static_cast<char>(0x80 | (code & 0x3F)));
  }
}

bool hex4(std::string_view text, std::uint32_t& code) {
  if (text.size() < 4) return false;
  code = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    const char c = text[i];
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) return false;
    code = code * 16 + static_cast<std::uint32_t>(digit);
  }
  return true;
}

/// Bytes of the escape sequence behind the backslash, its meaning appended.
std::size_t take_escape(std::string_view rest, std::string& out) {
  std::uint32_t code = 0;
  switch (rest.empty() ? '\0' : rest[0]) {
    case '"': case '\\': case '/': out.push_back(rest[0]); return 1;
    case 'b': case 'f': case 'n': case 'r': case 't': out.push_back(' '); return 1;
    case 'u':
      if (!hex4(rest.substr(1), code)) break;
      if (std::uint32_t low = 0; code >= 0xD800 && code < 0xDC00 && rest.size() >= 11 && rest[5] == '\\' &&
                                 rest[6] == 'u' && hex4(rest.substr(7), low) && low >= 0xDC00 && low < 0xE000) {
        append_utf8(out, 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00));
        return 11;
      }
      append_utf8(out, code);
      return 5;
    default: break;
  }
  out.push_back('\\');
  return 0;
}

/// Length of the valid UTF-8 sequence at the start of text; 0 if there is none.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  const std::size_t length = lead < 0x80 ? 1 : lead >= 0xC2 && lead < 0xE0 ? 2 : lead >= 0xE0 && lead < 0xF0 ? 3
                             : lead >= 0xF0 && lead < 0xF5 ? 4 : 0;
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  if (lead == 0xE0 && byte(1) < 0xA0) return 0;
  if (lead == 0xED && byte(1) >= 0xA0) return 0;
  if (lead == 0xF0 && byte(1) < 0x90) return 0;
  if (lead == 0xF4 && byte(1) >= 0x90) return 0;
  return length;
}

}  // namespace

const char* container_end(const char* at, const char* end) {
  std::int64_t depth = 0;
  while (at < end) {
    const char c = *at++;
    if (c == '"') {
      at = string_end(at, end);
      if (at == end) return nullptr;
      ++at;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      if (--depth == 0) return at;
    }
  }
  return nullptr;
}

JsonWalk::JsonWalk(std::string_view text)
    : at_(text.data()), end_(text.data() + text.size()), object_(!text.empty() && text[0] == '{') {
  if (text.empty() || (text[0] != '{' && text[0] != '['))
    damaged_ = true;
  else
    ++at_;
}

JsonValue json_member(std::string_view object, std::string_view key) {
  for (JsonWalk walk(object); walk.next();)
    if (walk.key() == key) return walk.value();
  return {};
}

std::string clean_text(std::string_view raw) {
  const auto is_plain = [](char c) { return c >= 0x20 && c < 0x7F && c != '\\'; };
  std::string out;
  out.reserve(raw.size());
  for (std::size_t at = 0; at < raw.size();) {
    // Nearly all text is: a run at once.
    const auto run = raw.substr(at);
    const auto plain = static_cast<std::size_t>(std::find_if_not(run.begin(), run.end(), is_plain) - run.begin());
    out.append(run.substr(0, plain));
    at += plain;
    if (at == raw.size()) break;
    const char c = raw[at];
    if (c == '\\') {
      at += 1 + take_escape(raw.substr(at + 1), out);
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      out.push_back(' ');
      ++at;
    } else if (const std::size_t length = utf8_length(raw.substr(at)); length > 0) {
      out.append(raw, at, length);
      at += length;
    } else {
      append_utf8(out, 0xFFFD);
      ++at;
    }
  }
  return out;
}

bool equals_ignoring_case(std::string_view text, std::string_view lower) {
  if (text.size() != lower.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if ((c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c) != lower[i]) return false;
  }
  return true;
}

}  // namespace ccl
