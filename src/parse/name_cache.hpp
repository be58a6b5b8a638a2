// What the reader knows of a name, found by its raw bytes: its number in the trace's string table, its class as a
// kernel, whether it launches work. Each is worked out once per distinct name. A look-up compares bytes and hashes
// only a few of them, since names of kernels are hundreds of bytes long and repeat a million times.
#pragma once
#include <array>
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
  bool keeps_slice = false, launches = false, graph = false, kernel_launch = false, synchronises = false;
  KernelClass kernel;
  KnownName* next = nullptr;  // what followed it last time
};

/// Names of GPU events and of calls come in their own order each.
enum class NameChain : std::uint8_t { gpu_events, calls };

class NameCache {
 public:
  NameCache(const Classifier& classifier, StringTable& strings) : classifier_(classifier), strings_(strings) {
    clear();
  }
  /// Good until the next find().
  KnownName& find(std::string_view raw);
  /// The name that begins at `at`; behind: its closing quote. Programs repeat themselves, so the name that followed the
  /// last of the chain before is compared first, without looking where this one ends. Null if none ends before `end`.
  KnownName* find_next(NameChain chain, const char* at, const char* end, const char*& behind);
  std::uint32_t index(KnownName& name);
  const KernelClass& kernel(KnownName& name);
  bool keeps_slice(KnownName& name);
  /// Fills launches, graph, kernel_launch and synchronises of a runtime or driver call.
  const KnownName& call(KnownName& name);

 private:
  static constexpr std::size_t most_names = std::size_t{1} << 16;
  void clear();
  KnownName& look_up(std::string_view raw);
  void insert(std::uint64_t hash, std::uint32_t number);

  const Classifier& classifier_;
  StringTable& strings_;
  std::array<KnownName*, 2> last_of_chain_{};
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
