// Writes pickles of protocol 4 as Python's own pickler does: texts and containers are stored once and recalled after.
#pragma once
#include <cstdint>
#include <map>
#include <string>

#include "text_file.hpp"

namespace synth {

class PickleFile {
 public:
  explicit PickleFile(TextFile& out) : out_(out) { out_ << std::string_view("\x80\x04", 2); }

  void text(std::string_view value);
  void integer(std::int64_t value);
  void truth(bool value) { out_ << (value ? '\x88' : '\x89'); }

  /// An empty container; its number recalls it. Add to it between mark() and set() or append().
  std::int64_t dict() { return store('}'); }
  std::int64_t list() { return store(']'); }
  void mark() { out_ << '('; }
  void set() { out_ << 'u'; }
  void append() { out_ << 'e'; }
  void recall(std::int64_t number);
  void pair(std::int64_t first, std::int64_t second);
  void stop() { out_ << '.'; }

  void item(std::string_view key, std::int64_t value) { text(key), integer(value); }
  void item(std::string_view key, std::string_view value) { text(key), text(value); }

 private:
  std::int64_t store(char opcode) {
    out_ << opcode << '\x94';
    return stored_++;
  }
  void little_endian(std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) out_ << static_cast<char>(value >> 8 * i & 0xff);
  }

  TextFile& out_;
  std::int64_t stored_ = 0;
  std::map<std::string, std::int64_t, std::less<>> texts_;
};

}  // namespace synth
