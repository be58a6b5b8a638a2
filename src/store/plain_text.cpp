#include "store/plain_text.hpp"

#include <algorithm>
#include <array>

namespace ccl {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";  // U+FFFD
constexpr std::string_view ellipsis = "\xE2\x80\xA6";     // …

struct Character {
  char32_t code = 0;
  std::size_t bytes = 1;
  bool valid = false;
};

// RFC 3629: shortest form, no surrogates, at most U+10FFFF.
Character decode(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {first, 1, true};
  const std::size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < bytes) return {};
  char32_t code = first & (0xFFU >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return {};
    code = (code << 6U) | (byte(i) & 0x3FU);
  }
  const bool shortest = bytes == 2 || (bytes == 3 && code >= 0x800) || (bytes == 4 && code >= 0x10000);
  if (!shortest || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return {};
  return {code, bytes, true};
}

template <class F>
void for_each_character(std::string_view text, F f) {
  for (std::size_t at = 0; at < text.size();) {
    const Character character = decode(text.substr(at));
    f(character, at);
    at += character.bytes;
  }
}

bool is_ascii(std::string_view text) {
  unsigned char all = 0;  // no early end: so it is done in vectors
  for (const char c : text) all |= static_cast<unsigned char>(c);
  return all < 0x80;
}

struct Range {
  char32_t first, last;
};

template <std::size_t N>
bool within(const std::array<Range, N>& ranges, char32_t code) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [code](const Range& range) { return code >= range.first && code <= range.last; });
}

// C0, DEL and C1 controls, separators, and the marks that turn or hide text (Unicode TR 36).
constexpr std::array<Range, 7> unsafe{{{0x00, 0x1F},
                                       {0x7F, 0x9F},
                                       {0x61C, 0x61C},
                                       {0x200B, 0x200F},
                                       {0x2028, 0x202E},
                                       {0x2060, 0x2069},
                                       {0xFEFF, 0xFEFF}}};
// The broad blocks of Unicode's East Asian Width W and F; exact enough to keep a line within its columns.
constexpr std::array<Range, 7> wide{{{0x1100, 0x115F},
                                     {0x2E80, 0xA4CF},
                                     {0xAC00, 0xD7A3},
                                     {0xF900, 0xFAFF},
                                     {0xFE30, 0xFE6F},
                                     {0xFF00, 0xFF60},
                                     {0x1F300, 0x3FFFD}}};
constexpr std::array<Range, 3> combining{{{0x300, 0x36F}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}}};

std::size_t width_of(char32_t code) { return within(combining, code) ? 0 : within(wide, code) ? 2 : 1; }

/// Bytes of the longest prefix that takes at most `columns`.
std::size_t prefix_bytes(std::string_view text, std::size_t columns) {
  std::size_t used = 0, bytes = 0;
  bool full = false;
  for_each_character(text, [&](const Character& character, std::size_t at) {
    used += width_of(character.code);
    full = full || used > columns;
    if (!full) bytes = at + character.bytes;
  });
  return bytes;
}

}  // namespace

std::string valid_utf8(std::string_view text) {
  if (is_ascii(text)) return std::string(text);
  std::string out;
  out.reserve(text.size());
  for_each_character(text, [&](const Character& character, std::size_t at) {
    out += character.valid ? text.substr(at, character.bytes) : replacement;
  });
  return out;
}

std::string without_zeros(std::string text) {
  for (std::size_t at = text.find('\0'); at != std::string::npos; at = text.find('\0', at))
    text.replace(at, 1, replacement);
  return text;
}

void make_valid_utf8(std::span<char> text) {
  if (is_ascii({text.data(), text.size()})) return;
  for_each_character({text.data(), text.size()}, [&](const Character& character, std::size_t at) {
    if (!character.valid) text[at] = '?';
  });
}

std::string one_line(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for_each_character(text, [&](const Character& character, std::size_t at) {
    const char first = text[at];
    if (!character.valid)
      out += '?';
    else if (first == '\t' || first == '\n' || first == '\r')
      out += ' ';
    else if (within(unsafe, character.code))
      out += '?';
    else
      out += text.substr(at, character.bytes);
  });
  return out;
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for_each_character(text, [&](const Character& character, std::size_t) { width += width_of(character.code); });
  return width;
}

std::string cut_to_width(std::string_view text, std::size_t columns) {
  if (display_width(text) <= columns) return std::string(text);
  std::string out(text.substr(0, prefix_bytes(text, columns - 1)));
  return out += ellipsis;
}

std::vector<std::string> wrap(std::string_view text, std::size_t columns, std::size_t indent, std::size_t most) {
  std::vector<std::string> lines;
  while (true) {
    const std::string start(lines.empty() ? 0 : indent, ' ');
    const std::size_t room = columns - start.size();
    if (display_width(text) <= room || lines.size() + 1 == most) {
      lines.push_back(start + cut_to_width(text, room));
      return lines;
    }
    std::size_t end = prefix_bytes(text, room);
    // A break inside the label at the start of a line would only lose the alignment.
    const std::size_t space = text.substr(0, end + 1).rfind(' ');
    if (space != std::string_view::npos && space > room / 3) end = space;
    lines.push_back(start + std::string(text.substr(0, end)));
    text.remove_prefix(end);
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  }
}

}  // namespace ccl
