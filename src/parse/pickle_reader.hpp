// A strict reader for the pickles that hold only data: dicts, lists, tuples, text, numbers. In: a file. Out: its value
// as a flat table of objects. Nothing is ever imported or called: an opcode that would is refused by name and offset.
// Memory is bounded by PickleLimits, whatever the file says; nesting needs no recursion.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/strings.hpp"
#include "parse/byte_source.hpp"

namespace ccl {

enum class PickleType : std::uint8_t { none, boolean, integer, real, text, list, dict, tuple, mark };

/// number = the integer or truth value, the index of the text, or the index of the object. Reals keep no value.
struct PickleValue {
  PickleType type = PickleType::none;
  std::int64_t number = 0;
};

struct PickleLimits {
  std::int64_t objects = 64'000'000;  // containers
  std::int64_t items = 512'000'000;   // values kept in containers
  std::int64_t stack = 1'000'000;
  std::int64_t memo = 256'000'000;
  std::int64_t text_bytes = 1 << 20;  // of one text
  std::int64_t all_text_bytes = std::int64_t{1} << 30;
};

/// Objects hold their items one after the other; those of a dict alternate key, value.
struct Pickle {
  PickleValue root;
  std::vector<std::vector<PickleValue>> objects;
  StringTable texts;

  const std::vector<PickleValue>& items(PickleValue value) const;  // empty for what is no container
  PickleValue at(PickleValue dict, std::string_view key) const;    // none if absent
  std::string_view text(PickleValue value) const;                  // empty for what is no text
};

/// Where and why reading stopped.
struct PickleFailure {
  std::string why;  // empty = the pickle is complete
  std::int64_t offset = -1;
};

/// Whether a dict's value is kept under this key; what is not kept costs nothing once its last opcode is read.
using KeepKey = std::function<bool(std::string_view)>;

/// Reads up to STOP. progress gets the bytes of the file as they are used; it returns false to end early.
PickleFailure read_pickle(ByteSource& source, const KeepKey& keep, const PickleLimits& limits, Pickle& out,
                          const std::function<bool(std::int64_t)>& progress);

}  // namespace ccl
