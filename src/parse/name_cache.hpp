// What the reader knows of a name, found by its raw bytes: its number in the trace's string table, its class as a
// kernel, whether it launches work. Each is worked out once per distinct name. A look-up compares bytes and hashes
// only a few of them, since names of kernels are hundreds of bytes long and repeat a million times.
#pragma once
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "core/strings.hpp"
#include "parse/classify.hpp"

namespace ccl {

struct KnownName {
  static constexpr std::uint32_t no_index = UINT32_MAX;
  std::string raw;
  std::uint32_t index = no_index;  // in the trace's strings, once it was needed
  bool classified = false, asked_slice = false, asked_call = false;
  bool keeps_slice = false, launches = false, graph = false, synchronises = false;
  KernelClass kernel;
};

class NameCache {
 public:
  NameCache(const Classifier& classifier, StringTable& strings) : classifier_(classifier), strings_(strings) {
    clear();
  }
  /// Good until the next find().
  KnownName& find(std::string_view raw);
  std::uint32_t index(KnownName& name);
  const KernelClass& kernel(KnownName& name);
  bool keeps_slice(KnownName& name);
  /// Fills launches, graph and synchronises of a runtime or driver call.
  const KnownName& call(KnownName& name);

 private:
  static constexpr std::size_t most_names = std::size_t{1} << 16;
  void clear();
  KnownName& look_up(std::string_view raw);
  void insert(std::uint64_t hash, std::uint32_t number);

  const Classifier& classifier_;
  StringTable& strings_;
  KnownName* last_ = nullptr;  // found; the same name is often asked for several times in a row
  std::deque<KnownName> names_;
  std::vector<std::uint64_t> hashes_;
  struct Slot {
    std::uint32_t hash = 0;    // its upper half, which tells nearly all names apart before they are looked at
    std::uint32_t number = 0;  // + 1; 0 = empty
  };
  std::vector<Slot> slots_;
};

}  // namespace ccl
