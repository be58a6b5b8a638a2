#include "parse/kineto_event.hpp"

#include <cstring>

namespace ccl {
namespace {

bool starts_with(const char* at, std::string_view what) { return std::memcmp(at, what.data(), what.size()) == 0; }

bool ends_with_ignoring_case(std::string_view text, std::string_view lower) {
  return text.size() > lower.size() && equals_ignoring_case(text.substr(text.size() - lower.size()), lower);
}

bool is_special_name(std::string_view name) {
  return name.starts_with("nccl:") || name.starts_with("ProfilerStep#") || name == "record_param_comms";
}

/// What Kineto's own writer puts first: `"ph": "X", "cat": "cpu_op", "name": "aten::add"`.
constexpr std::string_view phase_prefix = "\"ph\": \"";
constexpr std::string_view category_prefix = ", \"cat\": \"";
constexpr std::string_view name_prefix = ", \"name\": \"";

}  // namespace

Category category_of(std::string_view text) {
  struct Spelling {
    std::string_view lower;
    Category category;
  };
  static constexpr Spelling spellings[] = {
      {"kernel", Category::kernel}, {"gpu_memcpy", Category::memory_copy}, {"memcpy", Category::memory_copy},
      {"gpu_memset", Category::memory_set}, {"memset", Category::memory_set}, {"cuda_runtime", Category::runtime},
      {"cuda_driver", Category::runtime}, {"runtime", Category::runtime}, {"cpu_op", Category::cpu_op},
      {"operator", Category::cpu_op}, {"user_annotation", Category::user_annotation},
      {"gpu_user_annotation", Category::gpu_annotation}, {"python_function", Category::python_function}};
  if (text.empty()) return Category::none;
  for (const Spelling& s : spellings)
    if (equals_ignoring_case(text, s.lower)) return s.category;
  const bool is_runtime = ends_with_ignoring_case(text, "_runtime") || ends_with_ignoring_case(text, "_driver");
  return is_runtime ? Category::runtime : Category::other;
}

bool EventFilter::wants_category(Category category) const {
  switch (category) {
    case Category::kernel: case Category::memory_copy: case Category::memory_set: case Category::runtime:
    case Category::cpu_op: case Category::user_annotation: case Category::other: return true;
    case Category::python_function: return wants_.python;
    case Category::gpu_annotation: case Category::none: break;
  }
  return false;
}

bool EventFilter::wants_name(Category category, std::string_view raw_name) const {
  switch (category) {
    case Category::cpu_op: return wants_.cpu_ops || is_special_name(raw_name);
    case Category::user_annotation: return wants_.annotations || is_special_name(raw_name);
    case Category::other: return raw_name.starts_with("nccl:");
    default: return true;
  }
}

/// The first bytes of an event in Kineto's own order decide most of them: nothing is parsed then.
bool EventFilter::looks_unwanted(std::string_view text, EventFate& fate) const {
  const char* at = text.data() + 1;
  const char* const end = text.data() + text.size();
  while (at < end && static_cast<unsigned char>(*at) <= ' ') ++at;
  constexpr std::ptrdiff_t longest = 64;
  if (end - at < longest || !starts_with(at, phase_prefix)) return false;
  at += phase_prefix.size();
  if (at[1] != '"') return false;
  if (*at != 'X') {
    fate = EventFate::ignored;
    return *at != 'B' && *at != 'E';
  }
  at += 2;
  fate = EventFate::counted;
  if (!starts_with(at, category_prefix)) return false;
  at += category_prefix.size();
  if (starts_with(at, "python_function\"")) return !wants_.python;
  if (starts_with(at, "gpu_user_annotation\"")) return true;
  if (starts_with(at, "cpu_op\"")) {
    at += 7;
    if (wants_.cpu_ops || !starts_with(at, name_prefix)) return false;
    at += name_prefix.size();
    return !starts_with(at, "nccl:") && !starts_with(at, "ProfilerStep#") && !starts_with(at, "record_param_comms\"");
  }
  return false;
}

EventFate EventFilter::read(std::string_view text, EventText& event) const {
  EventFate fate = EventFate::counted;
  if (looks_unwanted(text, fate)) return fate;
  event = {};
  bool has_name = false, has_category = false;
  JsonWalk walk(text);
  while (walk.next()) {
    const std::string_view key = walk.key();
    const JsonValue& value = walk.value();
    if (key == "args") {
      if (value.type == JsonType::object) event.arguments = value.text;
    } else if (key == "ts") {
      event.time = value;
    } else if (key == "dur") {
      event.duration = value;
    } else if (key == "ph") {
      event.phase = value.text.size() == 1 ? value.text[0] : '?';
      if (event.phase != 'X' && event.phase != 'B' && event.phase != 'E') return EventFate::ignored;
    } else if (key == "cat") {
      event.category = value.present() ? category_of(value.text) : Category::none;
      has_category = true;
    } else if (key == "name") {
      event.name = value.type == JsonType::string ? value.text : std::string_view{};
      has_name = true;
    } else if (key == "pid") {
      event.process = value;
    } else if (key == "tid") {
      event.thread = value;
    } else {
      continue;
    }
    const bool known = event.phase == 'X' && has_category;
    if (known && !wants_category(event.category)) return EventFate::counted;
    if (known && has_name && !wants_name(event.category, event.name)) return EventFate::counted;
  }
  if (walk.damaged()) return EventFate::damaged;
  if (event.phase == 0) return EventFate::no_event;
  if (event.phase != 'X') return EventFate::wanted;
  if (!event.time.present()) return EventFate::ignored;
  if (!wants_category(event.category) || !wants_name(event.category, event.name)) return EventFate::counted;
  return EventFate::wanted;
}

}  // namespace ccl
