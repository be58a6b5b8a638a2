#include "parse/pickle_reader.hpp"

#include <deque>
#include <utility>

namespace ccl {
namespace {

struct Stop {
  std::string why;
  bool refused = false;
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
  Machine(ByteSource& source, PickleConsumer& consumer, const PickleLimits& limits, Pickle& out,
          const std::function<bool(std::int64_t)>& progress)
      : source_(source), consumer_(consumer), limits_(limits), out_(out), progress_(progress) {}

  PickleFailure run() {
    try {
      if (byte() != 0x80) throw Stop{"no pickle of protocol 2 or later"};
      if (const unsigned protocol = byte(); protocol < 2 || protocol > 5) throw Stop{"protocol is not 2 to 5"};
      for (opcode_at_ = offset(); step(byte()); opcode_at_ = offset()) {
      }
    } catch (const Stop& stop) {
      return {stop.why, opcode_at_, stop.refused};
    }
    return {};
  }

 private:
  static constexpr std::uint64_t number_mask = (std::uint64_t{1} << 56) - 1;
  struct Slot {
    std::int64_t memo = -1;
    bool finished = false;
    PickleValue result;
  };

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
  bool is_container(PickleValue value) const {
    return value.type == PickleType::list || value.type == PickleType::dict || value.type == PickleType::tuple;
  }
  PickleContainer& content(PickleValue value) { return out_.containers[static_cast<std::size_t>(value.number)]; }

  void push_object(PickleType type) {
    std::size_t place = out_.containers.size();
    if (!free_.empty()) {
      place = free_.back();
      free_.pop_back();
      slots_[place] = {};
    } else {
      if (static_cast<std::int64_t>(place) >= limits_.objects) throw Stop{"objects exceed the limit"};
      out_.containers.emplace_back();
      slots_.emplace_back();
    }
    push(type, static_cast<std::int64_t>(place));
  }
  void add_item(PickleContainer& to, PickleValue value) {
    if (value.type == PickleType::record && to.items.empty() &&
        (to.records_count == 0 || value.number == to.first_record + to.records_count)) {
      if (to.records_count++ == 0) to.first_record = value.number;
      return;
    }
    // The run of records ends here: from now on they are items like others.
    if (++items_ > limits_.items || (items_ += to.records_count) > limits_.items) throw Stop{"items exceed the limit"};
    for (; to.records_count > 0; --to.records_count) to.items.push_back({PickleType::record, to.first_record++});
    to.items.push_back(value);
  }
  /// The container on the stack that is to be added to.
  PickleContainer& open_container(std::size_t at, PickleType type) {
    if (at >= stack_.size() || stack_[at].type != type) throw Stop{"a container is missing on its stack"};
    if (slots_[static_cast<std::size_t>(stack_[at].number)].finished) throw Stop{"an object holds itself"};
    return content(stack_[at]);
  }

  /// What stands for a value once nothing is added to it any more.
  PickleValue finish(PickleValue value) {
    if (!is_container(value)) return value;
    Slot& slot = slots_[static_cast<std::size_t>(value.number)];
    if (!slot.finished) {
      slot.finished = true;
      slot.result = consumer_.finished(value, content(value));
      if (slot.memo >= 0) memo_[static_cast<std::size_t>(slot.memo)] = packed(slot.result);
    }
    return slot.result;
  }
  /// The same for a value that leaves the stack; its place is free if the consumer did not keep it.
  PickleValue consume(PickleValue value) {
    const PickleValue result = finish(value);
    if (!is_container(value) || result == value) return result;
    PickleContainer& old = content(value);
    items_ -= static_cast<std::int64_t>(old.items.size());
    if (old.items.capacity() > 4096) old.items = {};
    old.items.clear();
    old.records_count = 0;
    free_.push_back(static_cast<std::uint32_t>(value.number));
    return result;
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

  static std::uint64_t packed(PickleValue value) {
    return static_cast<std::uint64_t>(value.type) << 56 | (static_cast<std::uint64_t>(value.number) & number_mask);
  }
  void memoize(std::uint64_t index) {
    if (stack_.empty() || stack_.back().type == PickleType::mark) throw Stop{"its stack runs empty"};
    if (index >= static_cast<std::uint64_t>(limits_.memo)) throw Stop{"its memo exceeds the limit"};
    // Writers number without gaps; a far index would cost memory without content.
    if (index > memo_.size()) throw Stop{"its memo has a gap"};
    if (index < memo_.size()) throw Stop{"its memo is written twice"};
    const PickleValue value = stack_.back();
    if (value.number < 0 || static_cast<std::uint64_t>(value.number) > number_mask)
      throw Stop{"its memo holds a large number"};
    if (is_container(value)) {
      Slot& slot = slots_[static_cast<std::size_t>(value.number)];
      if (slot.memo >= 0) throw Stop{"an object is stored twice"};
      slot.memo = static_cast<std::int64_t>(index);
    }
    memo_.push_back(packed(value));
  }
  void recall(std::uint64_t index) {
    if (index >= memo_.size()) throw Stop{"it refers to an object that was never stored"};
    const std::uint64_t stored = memo_[static_cast<std::size_t>(index)];
    push(finish({static_cast<PickleType>(stored >> 56), static_cast<std::int64_t>(stored & number_mask)}));
  }

  std::size_t last_mark() const {
    for (std::size_t i = stack_.size(); i-- > 0;)
      if (stack_[i].type == PickleType::mark) return i;
    throw Stop{"a mark is missing on its stack"};
  }
  void set_item(PickleContainer& dict, PickleValue key, PickleValue value) {
    const PickleValue kept = consume(value);
    key = consume(key);
    if (key.type != PickleType::text || !consumer_.wants(static_cast<std::uint32_t>(key.number))) return;
    add_item(dict, key);
    add_item(dict, kept);
  }
  void append_marked() {
    const std::size_t mark = last_mark();
    PickleContainer& list = open_container(mark - 1, PickleType::list);
    for (std::size_t i = mark + 1; i < stack_.size(); ++i) add_item(list, consume(stack_[i]));
    stack_.resize(mark);
  }
  void set_marked() {
    const std::size_t mark = last_mark();
    if ((stack_.size() - mark) % 2 == 0) throw Stop{"a key has no value"};
    PickleContainer& dict = open_container(mark - 1, PickleType::dict);
    for (std::size_t i = mark + 1; i < stack_.size(); i += 2) set_item(dict, stack_[i], stack_[i + 1]);
    stack_.resize(mark);
  }
  void tuple(std::size_t size) {
    if (stack_.size() < size) throw Stop{"its stack runs empty"};
    const std::size_t first = stack_.size() - size;
    for (std::size_t i = first; i < stack_.size(); ++i)
      if (stack_[i].type == PickleType::mark) throw Stop{"its stack runs empty"};
    push_object(PickleType::tuple);
    const PickleValue made = pop();
    for (std::size_t i = first; i < stack_.size(); ++i) add_item(content(made), consume(stack_[i]));
    stack_.resize(first);
    push(made);
  }

  /// False at STOP.
  bool step(unsigned opcode) {
    switch (opcode) {
      case '.': out_.root = consume(pop()); return false;
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
        const PickleValue value = consume(pop());
        add_item(open_container(stack_.size() - 1, PickleType::list), value);
        return true;
      }
      case 'e': append_marked(); return true;
      case 's': {
        const PickleValue value = pop(), key = pop();
        set_item(open_container(stack_.size() - 1, PickleType::dict), key, value);
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
      throw Stop{std::string("opcode ") + name + " would run code and is refused", true};
    throw Stop{"opcode " + std::to_string(opcode) + " does not occur in memory snapshots"};
  }

  ByteSource& source_;
  PickleConsumer& consumer_;
  const PickleLimits& limits_;
  Pickle& out_;
  const std::function<bool(std::int64_t)>& progress_;
  std::size_t at_ = 0;
  std::int64_t window_offset_ = 0, opcode_at_ = 0, items_ = 0;
  std::int64_t all_text_bytes_ = 0;
  std::vector<PickleValue> stack_;
  std::vector<Slot> slots_;          // parallel to the containers
  std::vector<std::uint32_t> free_;  // containers to be used again
  std::deque<std::uint64_t> memo_;   // grows without copies: it is the largest table
};

}  // namespace

const std::vector<PickleValue>& Pickle::items(PickleValue value) const {
  static const std::vector<PickleValue> none;
  const bool container =
      value.type == PickleType::list || value.type == PickleType::dict || value.type == PickleType::tuple;
  return container ? containers[static_cast<std::size_t>(value.number)].items : none;
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

PickleFailure read_pickle(ByteSource& source, PickleConsumer& consumer, const PickleLimits& limits, Pickle& out,
                          const std::function<bool(std::int64_t)>& progress) {
  return Machine(source, consumer, limits, out, progress).run();
}

}  // namespace ccl
