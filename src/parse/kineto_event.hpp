// One trace event as text -> its fields as views. In: a complete object. Out: phase, category, name, time, thread and
// arguments, or the news that nobody wants it, found out as early as its first bytes allow.
#pragma once
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include "parse/json_text.hpp"
#include "parse/name_cache.hpp"
#include "parse/trace_reader.hpp"

namespace ccl {

/// `cat`, compared without case (old Kineto wrote "Kernel", "Operator").
enum class Category : std::uint8_t {
  none, kernel, memory_copy, memory_set, runtime, cpu_op, user_annotation, gpu_annotation, python_function, other
};
Category category_of(std::string_view text);
inline bool is_on_gpu(Category category) {
  return category == Category::kernel || category == Category::memory_copy || category == Category::memory_set;
}

/// The event that tells how long the profiler recorded: "PyTorch Profiler (0)", of category "Trace".
inline constexpr std::string_view recording = "PyTorch Profiler";

enum class EventFate : std::uint8_t {
  wanted,     // all fields are read
  counted,    // a complete event that nobody wants
  ignored,    // no complete event: metadata, flow, instant
  no_event,   // an object without a phase
  damaged     // not JSON
};

/// What the first bytes of an event tell of it.
struct Glance {
  enum Seen : std::uint8_t {
    look,  // nothing: read() must look
    counted, ignored,
    kernel, memory_copy, memory_set, call  // complete, with its name at `name`
  };
  Seen seen = look;
  const char* name = nullptr;
};

struct EventText {
  char phase = 0;  // X, B, E or i when wanted; 0 unknown
  Category category = Category::none;
  std::string_view name;  // raw
  JsonValue time, duration, process, thread;
  std::string_view arguments;  // the object's text; empty if there is none
};

/// Which events are wanted. GPU events, launches, record_param_comms, steps, nccl: annotations and the recording always are.
class EventFilter {
 public:
  EventFilter(const Wants& wants, NameCache& names) : wants_(wants), names_(names) {}
  bool wants_category(Category category) const;
  /// Of a category that is wanted at all.
  bool wants_name(Category category, std::string_view raw_name) const;

  /// text = one object, '{' to '}'. event: as constructed.
  EventFate read(std::string_view text, EventText& event) const;
  /// The same for the bulk of a trace, told by comparing a few words of its first bytes.
  Glance glance(std::string_view text) const;
  /// From now on operators with an autograd sequence number are wanted too, whatever their name: a backward has begun,
  /// and in a backward only recomputed operators have one.
  void want_sequence_numbers() { sequence_numbers_ = wants_.cpu_ops; }

 private:
  bool has_sequence_number(std::string_view event, std::string_view name) const;
  /// Of an event with its keys in the order Kineto writes them; nothing, if it is not one.
  std::optional<EventFate> read_usual(std::string_view text, EventText& event) const;
  EventFate read_any(std::string_view text, EventText& event) const;

  Wants wants_;
  NameCache& names_;
  bool sequence_numbers_ = false;
};

inline Glance EventFilter::glance(std::string_view text) const {
  constexpr std::size_t seen = 96;
  if (text.size() < seen) return {};
  const char* at = text.data() + 1;
  while (static_cast<unsigned char>(*at) <= ' ' && at < text.data() + 16) ++at;
  const auto word = [&at](std::size_t offset) {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, at + offset, 8);
    return bytes;
  };
  constexpr auto letters = [](const char (&eight)[9]) {
    std::uint64_t bytes = 0;
    for (int i = 7; i >= 0; --i) bytes = bytes << 8 | static_cast<unsigned char>(eight[i]);
    return bytes;
  };
  // "ph": "X", "cat": "cpu_op", "name": "…
  // 0       8       16 19       28      37
  if constexpr (std::endian::native == std::endian::big) return {};
  const std::uint64_t first = word(0);
  if (first != letters("\"ph\": \"X")) {
    const char phase = at[7];
    constexpr std::uint64_t seven = ~std::uint64_t{0} >> 8;
    const bool is_phase = (first & seven) == (letters("\"ph\": \"X") & seven) && at[8] == '"';
    const bool instant = phase == 'i' && wants_.memory_usage;
    return {is_phase && phase != 'B' && phase != 'E' && !instant ? Glance::ignored : Glance::look};
  }
  if (word(8) != letters("\", \"cat\"") || at[16] != ':' || at[17] != ' ' || at[18] != '"') return {};
  // `end`: where the category closes; the name begins 12 bytes behind.
  const auto named = [&](Glance::Seen kind, std::size_t end) {
    const bool usual = word(end) == letters("\", \"name") && word(end + 4) == letters("name\": \"");
    return usual ? Glance{kind, at + end + 12} : Glance{};
  };
  const auto special = [&](std::size_t end) {
    const std::uint64_t name = word(end + 12);
    constexpr std::uint64_t five = ~std::uint64_t{0} >> 24;
    return name == letters("record_p") || name == letters("Profiler") ||
           (name & five) == (letters("nccl:   ") & five);
  };
  switch (word(19)) {
    case letters("cpu_op\","):
      if (wants_.cpu_ops || named(Glance::counted, 25).seen == Glance::look || special(25)) return {};
      return {Glance::counted};
    case letters("python_f"): return {wants_.python ? Glance::look : Glance::counted};
    case letters("kernel\","): return named(Glance::kernel, 25);
    case letters("cuda_run"): return word(23) == letters("_runtime") ? named(Glance::call, 31) : Glance{};
    case letters("cuda_dri"): return word(22) == letters("a_driver") ? named(Glance::call, 30) : Glance{};
    case letters("gpu_memc"): return at[27] == 'p' && at[28] == 'y' ? named(Glance::memory_copy, 29) : Glance{};
    case letters("gpu_mems"): return at[27] == 'e' && at[28] == 't' ? named(Glance::memory_set, 29) : Glance{};
    case letters("gpu_user"):
      return {word(27) == letters("_annotat") && word(31) == letters("otation\"") ? Glance::counted : Glance::look};
    case letters("user_ann"):
      if (wants_.annotations || word(27) != letters("otation\"") || named(Glance::counted, 34).seen == Glance::look ||
          special(34))
        return {};
      return {Glance::counted};
    default: return {};
  }
}

}  // namespace ccl
