#include "parse/kineto_usual.hpp"

#include <cstring>

#include "parse/decimal.hpp"
#include "parse/json_text.hpp"

namespace ccl {
namespace {

constexpr std::size_t shortest_bytes = 128;  // from the end of the name on
constexpr std::string_view external_key = "\"External id\": ", correlation_key = "\"correlation\": ", time_key = "\"ts\": ";
constexpr char tail[] = "\n    }\n  }";  // of the arguments and of the event
constexpr std::size_t tail_bytes = sizeof tail - 1, event_tail_bytes = 4;

template <std::size_t N>
bool take(const char*& at, const char* end, const char (&literal)[N]) {
  if (end - at < static_cast<std::ptrdiff_t>(N) || std::memcmp(at, literal, N - 1) != 0) return false;
  at += N - 1;
  return true;
}

std::uint64_t word_at(const char* at) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, 8);
  return word;
}

/// From behind the duration to behind the opening brace of the arguments, the External id and the space there.
bool take_arguments_begin(const char*& at, const char* end, UsualEvent& event) {
  if (!take(at, end, ",\n    \"args\": {")) return false;
  event.arguments = {at - 1, static_cast<std::size_t>(end - at) + 1};
  at = skip_space(at, end);
  if (!std::string_view(at, static_cast<std::size_t>(end - at)).starts_with(external_key)) return true;
  at += external_key.size();
  if (!take_whole(at, end, event.external_id) || *at != ',') return false;
  at = skip_space(at + 1, end);
  return true;
}

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

/// Text that says the same wherever it stands: no value in it can hold keys.
bool is_plain(std::string_view text) { return text.find_first_of("\\{}[]") == std::string_view::npos; }

}  // namespace

UsualEvents::Repeat& UsualEvents::repeat_of(const char* at, std::uint64_t owner) {
  // `", "pid": ` is in front of the numbers of process and thread.
  const std::uint64_t numbers = word_at(at + 10) ^ word_at(at + 18) * 3 ^ word_at(at + 26) * 5;
  const std::uint64_t mixed = (numbers ^ owner) * 0x9e3779b97f4a7c15ULL;
  return repeats_[mixed >> 59];
}

bool UsualEvents::read(const char* at, const char* end, std::uint64_t owner, UsualEvent& event) {
  lesson_.repeat = nullptr;
  if (end - at < static_cast<std::ptrdiff_t>(shortest_bytes)) return false;
  if (std::memcmp(end - tail_bytes, tail, tail_bytes) != 0) return false;
  Repeat& repeat = repeat_of(at, owner);
  const char* const head = at;
  if (repeat.head_bytes == 0 || repeat.owner != owner || std::memcmp(at, repeat.head.data(), repeat.head_bytes) != 0) {
    note(head, end, owner, repeat);
    return false;
  }
  at += repeat.head_bytes;
  if (!take_us_as_ns(at, end, event.start_ns) || !take(at, end, ", \"dur\": ") || !take_us_as_ns(at, end, event.dur_ns))
    return false;
  if (!take_arguments_begin(at, end, event)) return false;
  if (end - at <= repeat.ids_bytes || std::memcmp(at, repeat.ids.data(), repeat.ids_bytes) != 0) {
    note(head, end, owner, repeat);
    return false;
  }
  at += repeat.ids_bytes;
  if (!take_whole(at, end, event.correlation) || event.correlation == 0) return false;
  if (*at != ',' && *at != '\n' && *at != ' ') return false;
  event.behind_ids = at;
  event.arguments.remove_suffix(event_tail_bytes);
  event.number = repeat.number;
  return true;
}

void UsualEvents::note(const char* at, const char* end, std::uint64_t owner, Repeat& repeat) {
  const std::string_view text(at, static_cast<std::size_t>(end - at));
  const std::size_t time = text.substr(0, most_bytes).find(time_key);
  if (time == std::string_view::npos) return;
  const std::string_view head = text.substr(0, time + time_key.size());
  if (!head.starts_with("\", \"pid\": ") || !contains(head, ", \"tid\": ") || !head.ends_with(",\n    \"ts\": ") ||
      !is_plain(head) || head.size() > most_bytes)
    return;
  UsualEvent event;
  at += head.size();
  if (!take_us_as_ns(at, end, event.start_ns) || !take(at, end, ", \"dur\": ") || !take_us_as_ns(at, end, event.dur_ns) ||
      !take_arguments_begin(at, end, event))
    return;
  const std::string_view rest(at, static_cast<std::size_t>(end - at));
  const std::size_t correlation = rest.substr(0, most_bytes).find(correlation_key);
  if (correlation == std::string_view::npos) return;
  const std::string_view ids = rest.substr(0, correlation + correlation_key.size());
  if (kind_ == UsualKind::gpu_event && !(contains(ids, "\"device\": ") && contains(ids, "\"stream\": "))) return;
  // Nothing in it that is read of a single event.
  if (!is_plain(ids) || contains(ids, external_key) || contains(ids, "\"C") || contains(ids, "\"bytes") ||
      ids.size() > most_bytes)
    return;
  lesson_ = {&repeat, owner, event.arguments.data(), head, ids};
}

void UsualEvents::learn(const char* arguments, std::uint32_t number) {
  if (lesson_.repeat == nullptr || lesson_.arguments != arguments) return;
  Repeat& repeat = *lesson_.repeat;
  repeat.owner = lesson_.owner;
  repeat.number = number;
  std::memcpy(repeat.head.data(), lesson_.head.data(), lesson_.head.size());
  std::memcpy(repeat.ids.data(), lesson_.ids.data(), lesson_.ids.size());
  repeat.head_bytes = static_cast<std::uint8_t>(lesson_.head.size());
  repeat.ids_bytes = static_cast<std::uint8_t>(lesson_.ids.size());
  lesson_ = {};
}

}  // namespace ccl
