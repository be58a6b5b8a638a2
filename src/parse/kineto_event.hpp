// One trace event as text -> its fields as views. In: a complete object. Out: phase, category, name, time, thread and
// arguments, or the news that nobody wants it, found out as early as its first bytes allow.
#pragma once
#include <cstdint>
#include <string_view>

#include "parse/json_text.hpp"
#include "parse/trace_reader.hpp"

namespace ccl {

/// `cat`, compared without case (old Kineto wrote "Kernel", "Operator").
enum class Category : std::uint8_t {
  none, kernel, memory_copy, memory_set, runtime, cpu_op, user_annotation, gpu_annotation, python_function, other
};
Category category_of(std::string_view text);

enum class EventFate : std::uint8_t {
  wanted,     // all fields are read
  counted,    // a complete event that nobody wants
  ignored,    // no complete event: metadata, flow, instant
  no_event,   // an object without a phase
  damaged     // not JSON
};

struct EventText {
  char phase = 0;  // X, B or E when wanted; 0 unknown
  Category category = Category::none;
  std::string_view name;  // raw
  JsonValue time, duration, process, thread;
  std::string_view arguments;  // the object's text; empty if there is none
};

/// Which events are wanted. GPU events, launches, record_param_comms, steps and nccl: annotations always are.
class EventFilter {
 public:
  explicit EventFilter(const Wants& wants) : wants_(wants) {}
  bool wants_category(Category category) const;
  /// Of a category that is wanted at all.
  bool wants_name(Category category, std::string_view raw_name) const;

  /// text = one object, '{' to '}'.
  EventFate read(std::string_view text, EventText& event) const;

 private:
  bool looks_unwanted(std::string_view text, EventFate& fate) const;
  Wants wants_;
};

}  // namespace ccl
