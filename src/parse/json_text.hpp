// JSON as profilers write it: raw control characters, illegal escapes, bare inf and NaN, trailing commas and broken
// UTF-8 are all taken. In: text that is complete in memory. Out: keys and values as views into it, nothing copied.
// A strict parser would refuse a whole trace for one such byte.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace ccl {

enum class JsonType : std::uint8_t { none, string, object, array, scalar };

struct JsonValue {
  JsonType type = JsonType::none;
  std::string_view text;  // a string without its quotes and not unescaped; anything else as written
  bool present() const { return type != JsonType::none && !(type == JsonType::scalar && text == "null"); }
};

/// From behind an opening quote to the closing one; end if there is none.
inline const char* string_end(const char* at, const char* end) {
  while (at < end) {
#if defined(__SSE2__)
    if (end - at >= 16) {
      const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
      const __m128i hits = _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')),
                                        _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\')));
      const int mask = _mm_movemask_epi8(hits);
      if (mask == 0) {
        at += 16;
        continue;
      }
      at += __builtin_ctz(static_cast<unsigned>(mask));
    }
#endif
    if (*at == '"') return at;
    at += *at == '\\' ? 2 : 1;
  }
  return end;
}
/// Behind the object or array that starts at `at`; null if it is not complete.
const char* container_end(const char* at, const char* end);

inline JsonType json_type_at(char c) {
  if (c == '"') return JsonType::string;
  if (c == '{') return JsonType::object;
  if (c == '[') return JsonType::array;
  return JsonType::scalar;
}

/// Behind the value that starts at `at`; null if it is not complete or not a value.
inline const char* value_end(const char* at, const char* end) {
  if (at >= end) return nullptr;
  switch (json_type_at(*at)) {
    case JsonType::string: at = string_end(at + 1, end); return at == end ? nullptr : at + 1;
    case JsonType::object: case JsonType::array: return container_end(at, end);
    default: break;
  }
  const char* const begin = at;
  while (at < end && static_cast<unsigned char>(*at) > ' ' && *at != ',' && *at != '}' && *at != ']' && *at != ':') ++at;
  return at == begin ? nullptr : at;
}

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

inline bool JsonWalk::next() {
  if (damaged_) return false;
  at_ = skip_space(at_, end_);
  bool separated = first_;
  first_ = false;
  while (at_ < end_ && *at_ == ',') {
    separated = true;
    at_ = skip_space(at_ + 1, end_);
  }
  if (at_ == end_) return fail();
  if (*at_ == (object_ ? '}' : ']')) return false;
  if (!separated) return fail();
  if (object_) {
    if (*at_ != '"') return fail();
    const char* const close = string_end(at_ + 1, end_);
    if (close == end_) return fail();
    key_ = {at_ + 1, static_cast<std::size_t>(close - at_ - 1)};
    at_ = skip_space(close + 1, end_);
    if (at_ == end_ || *at_ != ':') return fail();
    at_ = skip_space(at_ + 1, end_);
  }
  const char* const behind = value_end(at_, end_);
  if (behind == nullptr) return fail();
  value_.type = json_type_at(*at_);
  const int quotes = value_.type == JsonType::string ? 1 : 0;
  value_.text = {at_ + quotes, static_cast<std::size_t>(behind - at_ - 2 * quotes)};
  at_ = behind;
  return true;
}

/// text == literal. The length of a literal is known, so nothing is called.
template <std::size_t N>
inline bool is(std::string_view text, const char (&literal)[N]) {
  return text.size() == N - 1 && std::memcmp(text.data(), literal, N - 1) == 0;
}

/// Member of an object text, none if missing. Walks from the start: for small objects.
JsonValue json_member(std::string_view object, std::string_view key);

/// Escapes resolved, bytes that are not UTF-8 replaced by U+FFFD, control characters by a space. An unknown escape
/// keeps its backslash (paths of Windows).
std::string clean_text(std::string_view raw);

bool equals_ignoring_case(std::string_view text, std::string_view lower);

}  // namespace ccl
