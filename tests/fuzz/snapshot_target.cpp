// Memory snapshots: any bytes as a pickle, and what is made of them.
#include "parse/memory_snapshot.hpp"
#include "scratch_file.hpp"
#include "target.hpp"

namespace ccl::fuzz {
namespace {

std::string text(const std::string& s) { return std::string("\x8c") + static_cast<char>(s.size()) + s; }
std::string number(unsigned char value) { return std::string("K") + static_cast<char>(value); }

}  // namespace

std::vector<std::string> seeds() {
  using namespace std::string_literals;
  const std::string block = "}("s + text("address") + number(16) + text("size") + "J\0\2\0\0"s + text("requested_size") + number(200) +
                            text("state") + text("active_allocated") + text("frames") + "](}es" + "u";
  const std::string segment = "}("s + text("device") + number(0) + text("address") + number(16) + text("total_size") +
                              "\x8a\x03\0\0\x20"s + text("segment_type") + text("large") + text("blocks") + "](" + block + "eu";
  const std::string entry = "}("s + text("action") + text("alloc") + text("addr") + number(16) + text("size") + number(200) +
                            text("time_us") + "\x8a\x02\x10\x20"s + "u";
  const std::string whole = "\x80\x04}("s + text("segments") + "](" + segment + "e" + text("device_traces") + "](](" + entry + "\x94" +
                            "h\0eeu."s;
  return {whole, "\x80\x02](" + segment + "e.", "\x80\x04\x95\x10\0\0\0\0\0\0\0}\x94."s, "\x80\x04K\x01\x93."s,
          "(lp0\nI1\naF1.5\naS'x'\np1\nag1\na."s, "\x80\x04]\x94h\0a."s, "\x80\x04(((((((((((((ttttttttttttt."s};
}

void run(std::string_view bytes) {
  static ScratchFile scratch(".pickle");
  TraceFile file;
  file.path = scratch.hold(bytes);
  file.shown = "snapshot.pickle";
  Problems problems;
  Progress progress;
  read_memory_snapshot(file, {.wants = {}, .part = {}, .window_bytes = 64}, problems, progress);
}

}  // namespace ccl::fuzz
