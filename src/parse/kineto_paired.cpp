// Events told by their begin and their end, as old profilers and other tools write them.
#include "parse/decimal.hpp"
#include "parse/event_limits.hpp"
#include "parse/kineto_build.hpp"

namespace ccl {
namespace {

// Begin events that wait for their end are kept as text.
constexpr std::size_t most_open_bytes = std::size_t{64} << 20;

}  // namespace

void KinetoBuilder::add_begin(const EventText& event, std::string_view text) {
  paired_ = true;
  std::vector<std::string>& stack = open_[std::string(event.process.text) + '/' + std::string(event.thread.text)];
  const bool wanted = filter_.wants_category(event.category) && filter_.wants_name(event.category, event.name);
  if (wanted && open_bytes_ + text.size() > most_open_bytes) ++counts_.open_dropped;
  stack.emplace_back(wanted && open_bytes_ + text.size() <= most_open_bytes ? text : std::string_view{});
  open_bytes_ += stack.back().size();
}

void KinetoBuilder::add_end(const EventText& event) {
  paired_ = true;
  const auto open = open_.find(std::string(event.process.text) + '/' + std::string(event.thread.text));
  if (open == open_.end() || open->second.empty()) return;
  const std::string text = std::move(open->second.back());
  open->second.pop_back();
  open_bytes_ -= text.size();
  ++trace_.events_count;
  if (text.empty()) return;
  EventText begin;
  if (filter_.read(text, begin) != EventFate::wanted) return;
  if (begin.arguments.empty()) begin.arguments = event.arguments;
  const Decimal start = parse_us_as_ns(begin.time.text);
  const Decimal end = parse_us_as_ns(event.time.text);
  if (start.status == DecimalStatus::absent || end.status == DecimalStatus::absent) {
    if (is_on_gpu(begin.category)) ++counts_.no_time;
    return;
  }
  const bool ok = start.status == DecimalStatus::ok && end.status == DecimalStatus::ok;
  if (!ok || !is_possible_time(start.value) || !is_possible_time(end.value)) {
    ++counts_.out_of_range;
    return;
  }
  add_complete(begin, start.value, end.value - start.value);
}

}  // namespace ccl
