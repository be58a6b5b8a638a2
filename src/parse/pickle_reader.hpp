// A strict, streaming reader for the pickles that hold only data: dicts, lists, tuples, text, numbers. In: a file. Out:
// what a consumer makes of each container as it is finished, so that nothing need be kept but what the consumer keeps.
// Nothing is ever imported or called: an opcode that would is refused by name and offset. Memory is bounded by
// PickleLimits, whatever the file says; nesting needs no recursion.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/strings.hpp"
#include "parse/byte_source.hpp"

namespace ccl {

enum class PickleType : std::uint8_t { none, boolean, integer, real, text, list, dict, tuple, record, mark };

/// number = the integer or truth value, the index of the text, the number of the container, or the consumer's own
/// number of a record (below 2^48). Reals keep no value.
struct PickleValue {
  PickleType type = PickleType::none;
  std::int64_t number = 0;
  friend bool operator==(const PickleValue&, const PickleValue&) = default;
};

struct PickleLimits {
  std::int64_t objects = 1 << 20;  // containers open or kept at a time
  std::int64_t items = 1 << 22;    // values in them
  std::int64_t stack = 1 << 20;
  std::int64_t memo = 1 << 26;            // 8 bytes each
  std::int64_t text_bytes = 1 << 20;      // of one text
  std::int64_t all_text_bytes = 1 << 27;  // of all different texts
};

/// Items lie one after the other; those of a dict alternate key, value. A list of records with consecutive numbers has
/// only their first number and their count.
struct PickleContainer {
  std::vector<PickleValue> items;
  std::int64_t first_record = 0, records_count = 0;
};

struct Pickle {
  PickleValue root;
  std::vector<PickleContainer> containers;  // places are used again
  StringTable texts;

  const std::vector<PickleValue>& items(PickleValue value) const;  // empty for what is no container
  PickleValue at(PickleValue dict, std::string_view key) const;    // none if absent
  std::string_view text(PickleValue value) const;                  // empty for what is no text
};

class PickleConsumer {
 public:
  virtual ~PickleConsumer() = default;
  /// Whether a dict keeps the value under this key (a text's index).
  virtual bool wants(std::uint32_t key) const = 0;
  /// A container whose items are all there. What is returned stands for it from now on, wherever it is referred to: a
  /// record, none, or the container itself, which keeps it until the end.
  virtual PickleValue finished(PickleValue container, const PickleContainer& content) = 0;
};

/// Where and why reading stopped.
struct PickleFailure {
  std::string why;  // empty = the pickle is complete
  std::int64_t offset = -1;
  bool refused = false;  // an opcode that would import or call
};

/// Reads up to STOP. progress gets the bytes of the file as they are used; it returns false to end early.
PickleFailure read_pickle(ByteSource& source, PickleConsumer& consumer, const PickleLimits& limits, Pickle& out,
                          const std::function<bool(std::int64_t)>& progress);

}  // namespace ccl
