// GPU events and launches laid out as Kineto does, which is nearly all of them. What repeats from event to event (the
// text in front of the time, the arguments in front of the correlation) is compared with the last such event at one
// go and not parsed again. In: an event from behind its name on. Out: its numbers, or the news that the general reader
// (kineto_event.hpp) must look at it.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

namespace ccl {

struct UsualEvent {
  std::int64_t start_ns = 0, dur_ns = 0, correlation = 0, external_id = -1;
  std::uint32_t number = 0;          // as learn() was told
  std::string_view arguments;        // the object
  const char* behind_ids = nullptr;  // in the arguments, behind the correlation
};

enum class UsualKind : std::uint8_t { gpu_event, launch };

class UsualEvents {
 public:
  explicit UsualEvents(UsualKind kind) : kind_(kind) {}
  /// at = the quote that closes the name, end = behind the event. owner: what the repeats must have in common beside their text. False:
  /// not of this layout, or the first of its kind, which learn() can then be told of.
  bool read(const char* at, const char* end, std::uint64_t owner, UsualEvent& event);
  /// What the general reader made of the event that read() refused last: the number of its queue or thread.
  /// arguments: where they begin, to know it again.
  void learn(const char* arguments, std::uint32_t number);

 private:
  static constexpr std::size_t most_bytes = 112, entries_count = 32;
  struct Repeat {
    std::uint64_t owner = 0;
    std::uint32_t number = 0;
    std::uint8_t head_bytes = 0, ids_bytes = 0;  // 0: nothing learnt
    std::array<char, most_bytes> head{}, ids{};
  };
  struct Lesson {
    Repeat* repeat = nullptr;
    std::uint64_t owner = 0;
    const char* arguments = nullptr;
    std::string_view head, ids;
  };
  Repeat& repeat_of(const char* at, std::uint64_t owner);
  void note(const char* at, const char* end, std::uint64_t owner, Repeat& repeat);

  UsualKind kind_;
  std::array<Repeat, entries_count> repeats_{};
  Lesson lesson_;
};

}  // namespace ccl
