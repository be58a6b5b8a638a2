#include "pickle_file.hpp"

namespace synth {

void PickleFile::text(std::string_view value) {
  if (const auto known = texts_.find(value); known != texts_.end()) return recall(known->second);
  const bool is_short = value.size() < 256;
  out_ << (is_short ? '\x8c' : 'X');
  little_endian(value.size(), is_short ? 1 : 4);
  out_ << value << '\x94';
  texts_.emplace(value, stored_++);
}

void PickleFile::integer(std::int64_t value) {
  if (value >= 0 && value < 256) {
    out_ << 'K';
    little_endian(static_cast<std::uint64_t>(value), 1);
  } else if (value >= 0 && value < 65536) {
    out_ << 'M';
    little_endian(static_cast<std::uint64_t>(value), 2);
  } else if (value >= INT32_MIN && value <= INT32_MAX) {
    out_ << 'J';
    little_endian(static_cast<std::uint64_t>(value), 4);
  } else {
    out_ << '\x8a' << '\x08';
    little_endian(static_cast<std::uint64_t>(value), 8);
  }
}

void PickleFile::recall(std::int64_t number) {
  out_ << (number < 256 ? 'h' : 'j');
  little_endian(static_cast<std::uint64_t>(number), number < 256 ? 1 : 4);
}

void PickleFile::pair(std::int64_t first, std::int64_t second) {
  integer(first), integer(second);
  out_ << '\x86' << '\x94';
  ++stored_;
}

}  // namespace synth
