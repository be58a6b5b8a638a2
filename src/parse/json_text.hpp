// JSON as profilers write it: raw control characters, illegal escapes, bare inf and NaN, trailing commas and broken
// UTF-8 are all taken. In: text that is complete in memory. Out: keys and values as views into it, nothing copied.
// A strict parser would refuse a whole trace for one such byte.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace ccl {

enum class JsonType : std::uint8_t { none, string, object, array, scalar };

struct JsonValue {
  JsonType type = JsonType::none;
  std::string_view text;  // a string without its quotes and not unescaped; anything else as written
  bool present() const { return type != JsonType::none && !(type == JsonType::scalar && text == "null"); }
};

/// From behind an opening quote to the closing one; end if there is none.
const char* string_end(const char* at, const char* end);
/// First place where the two bytes stand next to each other; end if there is none.
const char* find_pair(const char* at, const char* end, char first, char second);
/// Behind the value that starts at `at`; null if it is not complete or not a value.
const char* value_end(const char* at, const char* end);
/// First byte that is no white space.
inline const char* skip_space(const char* at, const char* end) {
  while (at < end && static_cast<unsigned char>(*at) <= ' ') ++at;
  return at;
}

/// Walks the members of an object, or the elements of an array (key empty). damaged() tells a walk that ended
/// because the text is not JSON from one that reached the closing bracket.
class JsonWalk {
 public:
  /// text starts at the opening bracket.
  explicit JsonWalk(std::string_view text);
  /// Goes on inside an object whose first members were already looked at.
  JsonWalk(const char* at, const char* end) : at_(at), end_(end), object_(true) {}
  bool next();
  std::string_view key() const { return key_; }
  const JsonValue& value() const { return value_; }
  bool damaged() const { return damaged_; }
  const char* position() const { return at_; }

 private:
  bool fail() {
    damaged_ = true;
    return false;
  }
  const char* at_;
  const char* end_;
  bool object_;
  bool first_ = true;
  bool damaged_ = false;
  std::string_view key_;
  JsonValue value_;
};

/// Member of an object text, none if missing. Walks from the start: for small objects.
JsonValue json_member(std::string_view object, std::string_view key);

/// Escapes resolved, bytes that are not UTF-8 replaced by U+FFFD, control characters by a space. An unknown escape
/// keeps its backslash (paths of Windows).
std::string clean_text(std::string_view raw);

bool equals_ignoring_case(std::string_view text, std::string_view lower);

}  // namespace ccl
