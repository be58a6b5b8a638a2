#include "parse/salvage.hpp"

#include <algorithm>
#include <array>

#include "parse/event_splitter.hpp"
#include "parse/json_text.hpp"

namespace ccl {
namespace {

constexpr std::array<std::string_view, 10> event_keys{"ph", "name", "cat", "pid", "tid", "ts", "dur", "args", "id", "s"};
constexpr std::array<std::string_view, 18> root_keys{
    "traceName", "displayTimeUnit", "baseTimeNanoseconds", "distributedInfo", "deviceProperties", "schemaVersion",
    "trace_id", "record_shapes", "with_stack", "profile_memory", "with_modules", "with_flops", "cupti_version",
    "cuda_runtime_version", "cuda_driver_version", "otherData", "systemTraceEvents", "traceEvents"};

constexpr std::size_t first_look_bytes = 4096;
constexpr std::size_t longest_junk_bytes = 64;

/// Offset of the last byte before `at` that is no white space; npos if there is none near.
std::size_t last_before(std::string_view text, std::size_t at) {
  const std::size_t lowest = at - std::min(at, salvage_context_bytes);
  while (at > lowest) {
    --at;
    if (static_cast<unsigned char>(text[at]) > ' ') return at;
  }
  return std::string_view::npos;
}

std::size_t first_from(std::string_view text, std::size_t at) {
  while (at < text.size() && static_cast<unsigned char>(text[at]) <= ' ') ++at;
  return at;
}

enum class Answer : std::uint8_t { yes, no, unknown };

/// Is there a quoted key of the list and a colon from `at` on?
template <std::size_t N>
Answer key_follows(std::string_view text, std::size_t at, const std::array<std::string_view, N>& keys) {
  at = first_from(text, at);
  if (at == text.size()) return Answer::unknown;
  if (text[at] != '"') return Answer::no;
  const std::size_t close = text.find('"', at + 1);
  if (close == std::string_view::npos) return text.size() - at > 64 ? Answer::no : Answer::unknown;
  if (std::find(keys.begin(), keys.end(), text.substr(at + 1, close - at - 1)) == keys.end()) return Answer::no;
  const std::size_t colon = first_from(text, close + 1);
  if (colon == text.size()) return Answer::unknown;
  return text[colon] == ':' ? Answer::yes : Answer::no;
}

/// Not behind ':', as args are, nor behind a quote, as text of a damaged name is; unless it stands there as Kineto lays
/// out events, and nothing else.
Answer starts_event(std::string_view text, std::size_t at) {
  constexpr std::string_view laid_out = "{\n    \"";
  const std::size_t before = last_before(text, at);
  if (before != std::string_view::npos && text[before] != ',' && text[before] != '}') {
    const std::string_view here = text.substr(at, laid_out.size());
    if (!laid_out.starts_with(here)) return Answer::no;
    if (here.size() < laid_out.size()) return Answer::unknown;
  }
  return key_follows(text, at + 1, event_keys);
}

/// The object at `at`, if it ends in the text: a whole event?
Answer is_whole_event(std::string_view text, std::size_t at, bool at_end) {
  SplitState state;
  std::array<EventSpan, 64> spans;
  while (at < text.size()) {
    // One span is enough; the scan may see more.
    const std::size_t to = std::min(text.size(), at + 32);
    const SplitResult r = split_events(text.data(), at, to, true, state, spans.data(), spans.size(), SplitLevel::scalar);
    if (r.count > 0) {
      const std::string_view object = text.substr(spans[0].begin, spans[0].end - spans[0].begin);
      const std::size_t behind = first_from(text, spans[0].end);
      if (behind == text.size() && !at_end) return Answer::unknown;
      if (behind < text.size() && text[behind] != ',' && text[behind] != ']') return Answer::no;
      return json_member(object, "ph").present() ? Answer::yes : Answer::no;
    }
    if (r.stop != SplitStop::end) return Answer::no;
    at = to;
  }
  return Answer::unknown;
}

/// An event that does not end soon may have lost a brace and hold those behind it. Only so many are tried: hostile text
/// has nothing but beginnings.
bool holds_whole_event(std::string_view text, std::size_t begin) {
  int tries = 16;
  for (std::size_t at = text.find('{', begin + 1); at != std::string_view::npos && tries > 0; at = text.find('{', at + 1)) {
    if (starts_event(text, at) != Answer::yes) continue;
    const Answer answer = is_whole_event(text, at, true);
    if (answer == Answer::yes) return true;
    if (answer == Answer::unknown) --tries;
  }
  return false;
}

/// As is_whole_event, of an object of any length. The places where it is looked into do not depend on how much text
/// there is.
Answer is_lone_event(std::string_view text, std::size_t at, bool at_end) {
  for (std::size_t bytes = first_look_bytes;; bytes *= 2) {
    const bool all = bytes >= text.size() - at;
    const Answer answer = is_whole_event(all ? text : text.substr(0, at + bytes), at, all && at_end);
    if (answer != Answer::unknown || (all && !at_end)) return answer;
    if (holds_whole_event(all ? text : text.substr(0, at + bytes), at)) return Answer::no;
    if (all) return Answer::unknown;
  }
}

/// A known key of the top level behind the bracket settles it. At the end of the text "]}" alone could as well close a
/// list in the args of an event that was cut there, so an event must come before it.
Answer ends_list(std::string_view text, std::size_t at, bool at_end) {
  const std::size_t next = first_from(text, at + 1);
  if (next == text.size() && !at_end) return Answer::unknown;
  if (next < text.size() && text[next] == ',') {
    const Answer key = key_follows(text, next + 1, root_keys);
    return key == Answer::unknown && at_end ? Answer::no : key;
  }
  const std::size_t before = last_before(text, at);
  if (before != std::string_view::npos && text[before] != '}' && text[before] != ',') return Answer::no;
  if (next == text.size()) return Answer::yes;
  if (text[next] != '}' || first_from(text, next + 1) != text.size()) return Answer::no;
  return at_end ? Answer::yes : Answer::unknown;
}

}  // namespace

Salvage find_next_event(std::string_view window, std::size_t from, bool at_end) {
  Salvage result;
  for (std::size_t at = window.find_first_of("{]", from); at != std::string_view::npos;
       at = window.find_first_of("{]", at + 1)) {
    Answer answer = window[at] == '{' ? starts_event(window, at) : ends_list(window, at, at_end);
    if (answer == Answer::yes && window[at] == '{') {
      answer = is_lone_event(window, at, at_end);
      if (answer == Answer::no) ++result.damaged_count;
    }
    if (answer == Answer::no) continue;
    result.position = at;
    if (answer == Answer::yes) result.found = window[at] == '{' ? SalvageFound::event : SalvageFound::list_end;
    return result;
  }
  result.position = window.size();
  return result;
}

Junk junk_between_events(std::string_view text, bool at_end) {
  const std::string_view near = text.substr(0, longest_junk_bytes);
  const std::size_t size = near.find_first_of("{}[]\":");
  if (size != std::string_view::npos) return {near[size] == '{' ? JunkAnswer::event : JunkAnswer::damage, size};
  return {near.size() < longest_junk_bytes && !at_end ? JunkAnswer::more_text : JunkAnswer::damage, 0};
}

}  // namespace ccl
