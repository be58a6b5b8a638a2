#include "parse/kineto_event.hpp"

#include <cstring>

namespace ccl {
namespace {

bool ends_with_ignoring_case(std::string_view text, std::string_view lower) {
  return text.size() > lower.size() && equals_ignoring_case(text.substr(text.size() - lower.size()), lower);
}

bool is_special_name(std::string_view name) {
  return name.starts_with("nccl:") || name.starts_with("ProfilerStep#") || is(name, "record_param_comms");
}

Category any_category(std::string_view text) {
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

/// Walks text whose keys come in an expected order; every step that fails leaves the position as it was.
class UsualOrder {
 public:
  explicit UsualOrder(std::string_view object) : at_(object.data()), end_(object.data() + object.size()) {}

  /// usual: the byte in front of the key, space, the quoted key and ": ", as Kineto writes them. Other space will do.
  template <std::size_t N>
  bool key(const char (&usual)[N]) {
    if (end_ - at_ < static_cast<std::ptrdiff_t>(N) + 4) return false;
    if (std::memcmp(at_, usual, N - 1) == 0 && static_cast<unsigned char>(at_[N - 1]) > ' ') {
      at_ += N - 1;
      return true;
    }
    const std::string_view text(usual, N - 1);
    const std::size_t quote = text.find('"');
    return spaced_key(text[0], text.substr(quote, N - 3 - quote));
  }
  bool spaced_key(char before, std::string_view quoted_key) {
    const char* at = skip_space(at_, end_);
    const auto left = [&] { return static_cast<std::size_t>(end_ - at); };
    if (left() < quoted_key.size() + 5 || *at != before) return false;
    at = skip_space(at + 1, end_);
    if (left() < quoted_key.size() + 3 || std::memcmp(at, quoted_key.data(), quoted_key.size()) != 0) return false;
    at = skip_space(at + quoted_key.size(), end_);
    if (at == end_ || *at != ':') return false;
    at_ = skip_space(at + 1, end_);
    return at_ != end_;
  }
  bool string(std::string_view& text) {
    if (*at_ != '"') return false;
    const char* const close = string_end(at_ + 1, end_);
    if (close == end_) return false;
    text = {at_ + 1, static_cast<std::size_t>(close - at_ - 1)};
    at_ = close + 1;
    return true;
  }
  bool scalar(JsonValue& value) {
    if (*at_ == '"') {
      value.type = JsonType::string;
      return string(value.text);
    }
    const char* at = at_;
    while (at < end_ && *at != ',' && *at != '}' && static_cast<unsigned char>(*at) > ' ') ++at;
    if (at == at_ || at == end_) return false;
    value = {JsonType::scalar, {at_, static_cast<std::size_t>(at - at_)}};
    at_ = at;
    return true;
  }
  /// The object that opens here, if it is the last member.
  bool last_object(std::string_view& text) const {
    if (*at_ != '{') return false;
    const char* at = end_ - 1;  // the brace that closes the event
    while (at > at_ && static_cast<unsigned char>(at[-1]) <= ' ') --at;
    if (at - at_ < 2 || at[-1] != '}') return false;
    text = {at_, static_cast<std::size_t>(at - at_)};
    return true;
  }
  bool closes() const {
    const char* const at = skip_space(at_, end_);
    return at + 1 == end_ && *at == '}';
  }

 private:
  const char* at_;
  const char* end_;
};

}  // namespace

Category category_of(std::string_view text) {
  switch (text.size()) {
    case 6:
      if (is(text, "kernel")) return Category::kernel;
      if (is(text, "cpu_op")) return Category::cpu_op;
      break;
    case 12:
      if (is(text, "cuda_runtime")) return Category::runtime;
      break;
    case 15:
      if (is(text, "python_function")) return Category::python_function;
      break;
    default: break;
  }
  return any_category(text);
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
    case Category::cpu_op:
      return is_special_name(raw_name) || (wants_.cpu_ops && names_.keeps_slice(names_.find(raw_name)));
    case Category::user_annotation: return wants_.annotations || is_special_name(raw_name);
    case Category::python_function: return names_.keeps_slice(names_.find(raw_name));
    case Category::runtime: {
      const KnownName& call = names_.call(names_.find(raw_name));
      return call.launches || (wants_.runtime_calls && call.synchronises);
    }
    case Category::other: return raw_name.starts_with("nccl:") || raw_name.starts_with(recording);
    default: return true;
  }
}

/// Kineto writes the number among the first arguments; what lies further away is not looked for. Its first letter is
/// rarer than the quote in front of it.
bool EventFilter::has_sequence_number(std::string_view event, std::string_view name) const {
  constexpr std::size_t near = 256;
  if (!sequence_numbers_ || name.data() == nullptr) return false;
  const auto behind = static_cast<std::size_t>(name.data() + name.size() - event.data());
  return event.substr(behind, near).find("Sequence number") != std::string_view::npos;
}

std::optional<EventFate> EventFilter::read_usual(std::string_view text, EventText& event) const {
  UsualOrder at(text);
  std::string_view phase, category;
  if (!at.key("{\n    \"ph\": ") || !at.string(phase) || phase.size() != 1) return {};
  event.phase = phase[0];
  if (event.phase != 'X') {
    const bool instant = event.phase == 'i' && wants_.memory_usage;
    return event.phase == 'B' || event.phase == 'E' || instant ? std::optional<EventFate>() : EventFate::ignored;
  }
  if (!at.key(", \"cat\": ") || !at.string(category)) return {};
  event.category = category_of(category);
  if (!wants_category(event.category)) return EventFate::counted;
  if (!at.key(", \"name\": ") || !at.string(event.name)) return {};
  if (!wants_name(event.category, event.name) &&
      !(event.category == Category::cpu_op && has_sequence_number(text, event.name)))
    return EventFate::counted;
  if (!at.key(", \"pid\": ") || !at.scalar(event.process) || !at.key(", \"tid\": ") || !at.scalar(event.thread))
    return {};
  if (!at.key(",\n    \"ts\": ") || !at.scalar(event.time) || !event.time.present()) return {};
  if (at.key(", \"dur\": ") && !at.scalar(event.duration)) return {};
  if (at.key(",\n    \"args\": ") ? !at.last_object(event.arguments) : !at.closes()) return {};
  return EventFate::wanted;
}

EventFate EventFilter::read(std::string_view text, EventText& event) const {
  if (const std::optional<EventFate> fate = read_usual(text, event); fate.has_value()) return *fate;
  event = {};
  return read_any(text, event);
}

EventFate EventFilter::read_any(std::string_view text, EventText& event) const {
  bool has_name = false, has_category = false;
  JsonWalk walk(text);
  while (walk.next()) {
    const std::string_view key = walk.key();
    const JsonValue& value = walk.value();
    if (is(key, "args")) {
      if (value.type == JsonType::object) event.arguments = value.text;
    } else if (is(key, "ts")) {
      event.time = value;
    } else if (is(key, "dur")) {
      event.duration = value;
    } else if (is(key, "ph")) {
      event.phase = value.text.size() == 1 ? value.text[0] : '?';
      const bool instant = event.phase == 'i' && wants_.memory_usage;
      if (event.phase != 'X' && event.phase != 'B' && event.phase != 'E' && !instant) return EventFate::ignored;
    } else if (is(key, "cat")) {
      event.category = value.present() ? category_of(value.text) : Category::none;
      has_category = true;
    } else if (is(key, "name")) {
      event.name = value.type == JsonType::string ? value.text : std::string_view{};
      has_name = true;
    } else if (is(key, "pid")) {
      event.process = value;
    } else if (is(key, "tid")) {
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
  if (event.phase == 'i' && (event.name != "[memory]" || !event.time.present())) return EventFate::ignored;
  if (event.phase != 'X') return EventFate::wanted;
  const bool timed = event.time.present();
  if (!wants_category(event.category) || !wants_name(event.category, event.name))
    return timed ? EventFate::counted : EventFate::ignored;
  return timed || is_on_gpu(event.category) ? EventFate::wanted : EventFate::ignored;
}

}  // namespace ccl
