#include "parse/pickle_reader.hpp"

#include <cstring>
#include <utility>

namespace ccl {
namespace {

struct Stop {
  std::string why;
};

/// Opcodes that import, call or build; none of them is ever carried out.
const char* name_of_refused(unsigned char opcode) {
  switch (opcode) {
    case 'c': return "GLOBAL";
    case 0x93: return "STACK_GLOBAL";
    case 'R': return "REDUCE";
    case 'b': return "BUILD";
    case 'i': return "INST";
    case 'o': return "OBJ";
    case 0x81: return "NEWOBJ";
    case 0x92: return "NEWOBJ_EX";
    case 'P': return "PERSID";
    case 'Q': return "BINPERSID";
    case 0x82: return "EXT1";
    case 0x83: return "EXT2";
    case 0x84: return "EXT4";
    case 0x97: return "NEXT_BUFFER";
    case 0x98: return "READONLY_BUFFER";
    default: return nullptr;
  }
}

class Machine {
 public:
  Machine(ByteSource& source, const KeepKey& keep, const PickleLimits& limits, Pickle& out,
          const std::function<bool(std::int64_t)>& progress)
      : source_(source), keep_(keep), limits_(limits), out_(out), progress_(progress) {}

  PickleFailure run() {
    try {
      if (byte() != 0x80) throw Stop{"no pickle of protocol 2 or later"};
      if (const unsigned protocol = byte(); protocol < 2 || protocol > 5) throw Stop{"protocol is not 2 to 5"};
      for (opcode_at_ = offset(); step(byte()); opcode_at_ = offset()) {
      }
    } catch (const Stop& stop) {
      return {stop.why, opcode_at_};
    }
    return {};
  }

 private:
  std::int64_t offset() const { return window_offset_ + static_cast<std::int64_t>(at_); }

  const char* take(std::size_t bytes) {
    while (source_.size() - at_ < bytes) {
      window_offset_ += static_cast<std::int64_t>(at_);
      const std::size_t kept = source_.size() - at_;
      const bool more = source_.next(kept);
      at_ = 0;
      if (!progress_(source_.file_bytes())) throw Stop{"reading was ended early"};
      if (!more) throw Stop{"the file ends before the pickle does"};
    }
    at_ += bytes;
    return source_.window() + at_ - bytes;
  }
  unsigned byte() { return static_cast<unsigned char>(*take(1)); }
  std::uint64_t unsigned_number(std::size_t bytes) {
    const char* from = take(bytes);
    std::uint64_t value = 0;
    for (std::size_t i = bytes; i-- > 0;) value = value << 8 | static_cast<unsigned char>(from[i]);
    return value;
  }

  void push(PickleValue value) {
    if (static_cast<std::int64_t>(stack_.size()) >= limits_.stack) throw Stop{"its stack exceeds the limit"};
    stack_.push_back(value);
  }
  void push(PickleType type, std::int64_t number) { push(PickleValue{type, number}); }
  PickleValue pop() {
    if (stack_.empty() || stack_.back().type == PickleType::mark) throw Stop{"its stack runs empty"};
    const PickleValue value = stack_.back();
    stack_.pop_back();
    return value;
  }
  void push_object(PickleType type) {
    if (static_cast<std::int64_t>(out_.objects.size()) >= limits_.objects) throw Stop{"objects exceed the limit"};
    push(type, static_cast<std::int64_t>(out_.objects.size()));
    out_.objects.emplace_back();
  }
  void add_item(std::vector<PickleValue>& to, PickleValue value) {
    if (++items_ > limits_.items) throw Stop{"items exceed the limit"};
    to.push_back(value);
  }
  std::vector<PickleValue>& container(PickleType type) {
    if (stack_.empty() || stack_.back().type != type) throw Stop{"a container is missing on its stack"};
    return out_.objects[static_cast<std::size_t>(stack_.back().number)];
  }

  void text(std::uint64_t bytes) {
    if (bytes > static_cast<std::uint64_t>(limits_.text_bytes)) throw Stop{"a text exceeds the limit"};
    const std::string_view found(take(bytes), bytes);
    const std::size_t before = out_.texts.size();
    const std::uint32_t index = out_.texts.index(found);
    if (out_.texts.size() > before &&
        (all_text_bytes_ += static_cast<std::int64_t>(found.size()) + 64) > limits_.all_text_bytes)
      throw Stop{"texts exceed the limit"};
    push(PickleType::text, index);
  }
  void long_number(std::uint64_t bytes) {
    // Nine bytes hold an address above 2^63: its top byte is zero.
    if (bytes > 9) throw Stop{"an integer exceeds 64 bits"};
    std::uint64_t value = bytes == 0 ? 0 : unsigned_number(bytes > 8 ? 8 : bytes);
    if (bytes == 9 && byte() != 0) throw Stop{"an integer exceeds 64 bits"};
    if (bytes > 0 && bytes < 8 && (value >> (8 * bytes - 1) & 1) != 0) value |= ~std::uint64_t{0} << 8 * bytes;
    push(PickleType::integer, static_cast<std::int64_t>(value));
  }

  void memoize(std::uint64_t index) {
    if (stack_.empty() || stack_.back().type == PickleType::mark) throw Stop{"its stack runs empty"};
    if (index >= static_cast<std::uint64_t>(limits_.memo)) throw Stop{"its memo exceeds the limit"};
    // Writers number without gaps; a far index would cost memory without content.
    if (index > memo_.size()) throw Stop{"its memo has a gap"};
    if (index == memo_.size()) memo_.emplace_back();
    memo_[static_cast<std::size_t>(index)] = stack_.back();
  }
  void recall(std::uint64_t index) {
    if (index >= memo_.size()) throw Stop{"it refers to an object that was never stored"};
    push(memo_[static_cast<std::size_t>(index)]);
  }

  std::size_t last_mark() const {
    for (std::size_t i = stack_.size(); i-- > 0;)
      if (stack_[i].type == PickleType::mark) return i;
    throw Stop{"a mark is missing on its stack"};
  }
  void set_item(std::vector<PickleValue>& dict, PickleValue key, PickleValue value) {
    if (key.type != PickleType::text || !keep_(out_.text(key))) return;
    add_item(dict, key);
    add_item(dict, value);
  }
  void append_marked() {
    const std::size_t mark = last_mark();
    const std::vector<PickleValue> values(stack_.begin() + static_cast<std::ptrdiff_t>(mark) + 1, stack_.end());
    stack_.resize(mark);
    std::vector<PickleValue>& list = container(PickleType::list);
    for (const PickleValue value : values) add_item(list, value);
  }
  void set_marked() {
    const std::size_t mark = last_mark();
    const std::vector<PickleValue> values(stack_.begin() + static_cast<std::ptrdiff_t>(mark) + 1, stack_.end());
    stack_.resize(mark);
    if (values.size() % 2 != 0) throw Stop{"a key has no value"};
    std::vector<PickleValue>& dict = container(PickleType::dict);
    for (std::size_t i = 0; i < values.size(); i += 2) set_item(dict, values[i], values[i + 1]);
  }
  void tuple(std::size_t size) {
    if (stack_.size() < size) throw Stop{"its stack runs empty"};
    const std::vector<PickleValue> values(stack_.end() - static_cast<std::ptrdiff_t>(size), stack_.end());
    for (const PickleValue value : values)
      if (value.type == PickleType::mark) throw Stop{"its stack runs empty"};
    stack_.resize(stack_.size() - size);
    push_object(PickleType::tuple);
    for (const PickleValue value : values) add_item(out_.objects.back(), value);
  }

  /// False at STOP.
  bool step(unsigned opcode) {
    switch (opcode) {
      case '.': out_.root = pop(); return false;
      case 0x95: take(8); return true;  // FRAME: only a hint of how much to read ahead
      case '(': push(PickleType::mark, 0); return true;
      case 'N': push(PickleType::none, 0); return true;
      case 0x88: push(PickleType::boolean, 1); return true;
      case 0x89: push(PickleType::boolean, 0); return true;
      case 'K': push(PickleType::integer, byte()); return true;
      case 'M': push(PickleType::integer, static_cast<std::int64_t>(unsigned_number(2))); return true;
      case 'J': push(PickleType::integer, static_cast<std::int32_t>(unsigned_number(4))); return true;
      case 0x8a: long_number(byte()); return true;
      case 0x8b: long_number(unsigned_number(4)); return true;
      case 'G':
        take(8);
        push(PickleType::real, 0);
        return true;
      case 0x8c: text(byte()); return true;
      case 'X': text(unsigned_number(4)); return true;
      case 0x8d: text(unsigned_number(8)); return true;
      case '}': push_object(PickleType::dict); return true;
      case ']': push_object(PickleType::list); return true;
      case ')': push_object(PickleType::tuple); return true;
      case 0x85: tuple(1); return true;
      case 0x86: tuple(2); return true;
      case 0x87: tuple(3); return true;
      case 't': {
        const std::size_t mark = last_mark(), size = stack_.size() - mark - 1;
        stack_.erase(stack_.begin() + static_cast<std::ptrdiff_t>(mark));
        tuple(size);
        return true;
      }
      case 'a': {
        const PickleValue value = pop();
        add_item(container(PickleType::list), value);
        return true;
      }
      case 'e': append_marked(); return true;
      case 's': {
        const PickleValue value = pop(), key = pop();
        set_item(container(PickleType::dict), key, value);
        return true;
      }
      case 'u': set_marked(); return true;
      case 0x94: memoize(memo_.size()); return true;
      case 'q': memoize(byte()); return true;
      case 'r': memoize(unsigned_number(4)); return true;
      case 'h': recall(byte()); return true;
      case 'j': recall(unsigned_number(4)); return true;
      default: break;
    }
    if (const char* name = name_of_refused(static_cast<unsigned char>(opcode)))
      throw Stop{std::string("opcode ") + name + " would run code and is refused"};
    throw Stop{"opcode " + std::to_string(opcode) + " does not occur in memory snapshots"};
  }

  ByteSource& source_;
  const KeepKey& keep_;
  const PickleLimits& limits_;
  Pickle& out_;
  const std::function<bool(std::int64_t)>& progress_;
  std::size_t at_ = 0;
  std::int64_t window_offset_ = 0, opcode_at_ = 0, items_ = 0;
  std::int64_t all_text_bytes_ = 0;
  std::vector<PickleValue> stack_, memo_;
};

}  // namespace

const std::vector<PickleValue>& Pickle::items(PickleValue value) const {
  static const std::vector<PickleValue> none;
  const bool container =
      value.type == PickleType::list || value.type == PickleType::dict || value.type == PickleType::tuple;
  return container ? objects[static_cast<std::size_t>(value.number)] : none;
}

PickleValue Pickle::at(PickleValue dict, std::string_view key) const {
  PickleValue found;
  if (dict.type != PickleType::dict) return found;
  const std::vector<PickleValue>& all = items(dict);
  for (std::size_t i = 0; i + 1 < all.size(); i += 2)
    if (text(all[i]) == key) found = all[i + 1];
  return found;
}

std::string_view Pickle::text(PickleValue value) const {
  return value.type == PickleType::text ? texts.text(static_cast<std::uint32_t>(value.number)) : std::string_view();
}

PickleFailure read_pickle(ByteSource& source, const KeepKey& keep, const PickleLimits& limits, Pickle& out,
                          const std::function<bool(std::int64_t)>& progress) {
  return Machine(source, keep, limits, out, progress).run();
}

}  // namespace ccl
