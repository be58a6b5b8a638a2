// The yardstick the reader is measured against: what reading a Kineto trace costs if nothing is done with it. Reused
// 4 MB windows by read(2); the complete events of a window, found by a plain search for the end of an event at the
// start of a line or between objects, walked by simdjson on-demand: ph cat name ts dur of every event, nothing of its
// args. Prints bytes, events and CPU seconds (user + system).
//
//   bare_walk FILE
#include <fcntl.h>
#include <simdjson.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <vector>

#include "cpu_time.hpp"

namespace {

constexpr std::size_t window_bytes = std::size_t{4} << 20;
constexpr std::size_t room_bytes = std::size_t{1} << 20;  // for the incomplete event of the window before

struct Walk {
  simdjson::ondemand::parser parser;
  std::size_t events = 0, fields = 0;

  /// text = "[" event "," … event "]", with padding behind it.
  bool events_of(char* text, std::size_t size, std::size_t capacity) {
    simdjson::ondemand::document document;
    if (parser.iterate(text, size, capacity).get(document) != simdjson::SUCCESS) return false;
    simdjson::ondemand::array list;
    if (document.get_array().get(list) != simdjson::SUCCESS) return false;
    for (auto element : list) {
      simdjson::ondemand::object event;
      if (element.get_object().get(event) != simdjson::SUCCESS) return false;
      ++events;
      for (auto field : event) {
        simdjson::ondemand::raw_json_string key;
        if (field.key().get(key) != simdjson::SUCCESS) return false;
        if (key == "ph" || key == "cat" || key == "name") {
          std::string_view value;
          if (field.value().get_string().get(value) == simdjson::SUCCESS) fields += value.size();
        } else if (key == "ts" || key == "dur") {
          std::string_view token;
          if (field.value().raw_json_token().get(token) == simdjson::SUCCESS) fields += token.size();
        }
      }
    }
    return true;
  }
};

/// Behind the last "}" that ends an event: one followed by "," and the "{" of the next, at the depth of events.
std::size_t last_event_end(std::string_view text) {
  for (std::size_t at = text.rfind("},"); at != std::string_view::npos && at > 0; at = text.rfind("},", at - 1)) {
    std::size_t next = at + 2;
    while (next < text.size() && static_cast<unsigned char>(text[next]) <= ' ') ++next;
    if (next == text.size() || text[next] != '{') continue;
    const std::string_view key = text.substr(next + 1, 40);
    if (key.find("\"ph\"") != std::string_view::npos || key.find("\"name\"") != std::string_view::npos) return at + 1;
  }
  return 0;
}

int walk_file(const char* path) {
  const int file = open(path, O_RDONLY);
  if (file < 0) return std::perror(path), 1;
  posix_fadvise(file, 0, 0, POSIX_FADV_SEQUENTIAL);
  std::vector<char> memory(1 + room_bytes + window_bytes + simdjson::SIMDJSON_PADDING);
  char* const front = memory.data() + 1;
  const std::size_t capacity = memory.size();
  Walk walk;
  std::size_t have = 0, total = 0;
  bool in_events = false;
  while (true) {
    const ssize_t got = read(file, front + have, window_bytes);
    if (got < 0) return std::perror(path), 1;
    have += static_cast<std::size_t>(got);
    total += static_cast<std::size_t>(got);
    std::size_t begin = 0;
    if (!in_events) {
      const std::size_t key = std::string_view(front, have).find("\"traceEvents\"");
      if (key == std::string_view::npos) return std::fprintf(stderr, "%s: no traceEvents\n", path), 1;
      begin = std::string_view(front, have).find('[', key) + 1;
      in_events = true;
    }
    std::size_t end = begin + last_event_end({front + begin, have - begin});
    if (got == 0) {
      const std::size_t last = std::string_view(front, have).rfind(']');
      end = last == std::string_view::npos ? begin : last;
    }
    if (end > begin) {
      char* text = front + begin - 1;
      text[0] = '[';
      const char behind = front[end];
      front[end] = ']';
      if (!walk.events_of(text, end - begin + 2, capacity - static_cast<std::size_t>(text - memory.data())))
        return std::fprintf(stderr, "%s: not walkable before byte %zu\n", path, total), 1;
      front[end] = behind;
      while (end < have && (front[end] == ',' || static_cast<unsigned char>(front[end]) <= ' ')) ++end;
    }
    if (got == 0) break;
    have -= end;
    if (have > room_bytes) return std::fprintf(stderr, "%s: event too long\n", path), 1;
    std::memmove(front, front + end, have);
  }
  close(file);
  const double seconds = ccl::bench::cpu_seconds();
  std::printf("bare_walk bytes %zu events %zu cpu_s %.3f GB_per_cpu_s %.3f peak_MB %.1f (%zu)\n", total, walk.events,
              seconds, 1e-9 * static_cast<double>(total) / seconds, ccl::bench::peak_megabytes(), walk.fields);
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return std::fprintf(stderr, "usage: bare_walk FILE\n"), 2;
  return walk_file(arguments[1]);
}
