// Text from traces made safe to store and to show: valid UTF-8, no control characters, lines of bounded width.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ccl {

/// Invalid byte sequences become U+FFFD.
std::string valid_utf8(std::string_view text);
/// Zero bytes become U+FFFD: HDF5 ends a text attribute at the first one.
std::string without_zeros(std::string text);
/// Invalid bytes become '?': the length stays, for fixed-width cells.
void make_valid_utf8(std::span<char> text);

/// One line for a terminal: valid UTF-8; control characters (escape sequences start with one), line and paragraph
/// separators and characters that turn the writing direction become '?'; tab and line end become a space.
std::string one_line(std::string_view text);

/// Columns that a valid text takes on a terminal: 2 for East Asian wide characters, 0 for combining marks.
std::size_t display_width(std::string_view text);
/// Cut to `columns`, ending in "…" if anything was cut.
std::string cut_to_width(std::string_view text, std::size_t columns);
/// Lines of at most `columns`, broken at spaces where possible; following lines start with `indent` spaces. What does
/// not fit into `most` lines is cut.
std::vector<std::string> wrap(std::string_view text, std::size_t columns, std::size_t indent, std::size_t most);

}  // namespace ccl
