#include "parse/name_cache.hpp"

#include <cstring>

#include "parse/json_text.hpp"
#include "parse/missing_kernels.hpp"

namespace ccl {
namespace {

std::uint64_t word_at(const char* at) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, 8);
  return word;
}

/// Length, both ends and the middle: enough to tell most names apart; the bytes are compared anyway.
std::uint64_t sample_hash(std::string_view text) {
  const std::size_t size = text.size();
  if (size < 8) return stable_hash(text);
  std::uint64_t h = size * 0x9e3779b97f4a7c15ULL;
  h = (h ^ word_at(text.data())) * 0xff51afd7ed558ccdULL;
  h = ((h ^ (h >> 32)) + word_at(text.data() + (size - 8) / 2)) * 0xc4ceb9fe1a85ec53ULL;
  h = ((h ^ (h >> 32)) + word_at(text.data() + (size - 8) / 4 * 3)) * 0xff51afd7ed558ccdULL;
  h = ((h ^ (h >> 32)) + word_at(text.data() + size - 8)) * 0xc4ceb9fe1a85ec53ULL;
  return h ^ (h >> 29);
}

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

/// Calls that put nothing on the GPU's timeline. They are the bulk of the runtime events of a trace and would fill
/// the list of launches that wait for their kernel.
bool never_launches(std::string_view name) {
  if (contains(name, "Launch") || contains(name, "launch")) return false;
  for (const std::string_view prefix : {"cuda", "hip", "cu", "mu"})
    if (name.starts_with(prefix)) {
      name.remove_prefix(prefix.size());
      break;
    }
  if (contains(name, "Synchronize")) return true;
  for (const std::string_view prefix :
       {"Event", "StreamIsCapturing", "StreamGet", "StreamWait", "StreamQuery", "StreamCreate", "StreamBeginCapture",
        "StreamEndCapture", "StreamUpdateCapture", "Device", "Get", "Set", "Peek", "Func", "Occupancy", "Thread",
        "Pointer", "Host", "Malloc", "MemAlloc", "MemCreate", "MemMap", "MemAddress", "MemSetAccess", "MemGet", "Free",
        "Ctx", "Module", "Kernel", "Driver", "Init", "GraphCreate", "GraphInstantiate", "GraphDestroy", "GraphExec",
        "GraphGet", "GraphAdd", "TensorMap", "Library"})
    if (name.starts_with(prefix)) return true;
  return false;
}

}  // namespace

void NameCache::clear() {
  last_of_chain_ = {};
  last_ = nullptr;
  names_.clear();
  hashes_.clear();
  slots_.assign(1024, Slot{});
}

void NameCache::insert(std::uint64_t hash, std::uint32_t number) {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = hash & mask;
  while (slots_[slot].number != 0) slot = (slot + 1) & mask;
  slots_[slot] = {static_cast<std::uint32_t>(hash >> 32), number + 1};
}

KnownName& NameCache::find(std::string_view raw) {
  if (last_ != nullptr && last_->raw == raw) return *last_;
  last_ = &look_up(raw);
  return *last_;
}

KnownName* NameCache::find_next(NameChain chain, const char* at, const char* end, const char*& behind) {
  KnownName*& last = last_of_chain_[static_cast<std::size_t>(chain)];
  if (last != nullptr && last->next != nullptr) {
    const std::string& expected = last->next->raw;
    behind = at + expected.size();
    if (end - at > static_cast<std::ptrdiff_t>(expected.size()) && *behind == '"' &&
        std::memcmp(at, expected.data(), expected.size()) == 0)
      return last = last->next;
  }
  behind = string_end(at, end);
  if (behind == end) return nullptr;
  KnownName& found = look_up({at, static_cast<std::size_t>(behind - at)});
  if (last != nullptr) last->next = &found;  // null where looking it up has dropped all names
  return last = &found;
}

KnownName& NameCache::look_up(std::string_view raw) {
  const std::uint64_t hash = sample_hash(raw);
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t slot = hash & mask; slots_[slot].number != 0; slot = (slot + 1) & mask) {
    if (slots_[slot].hash != static_cast<std::uint32_t>(hash >> 32)) continue;
    KnownName& name = names_[slots_[slot].number - 1];
    if (name.raw == raw) return name;
  }
  if (names_.size() >= most_names) clear();
  names_.emplace_back().raw = raw;
  hashes_.push_back(hash);
  if (names_.size() * 2 > slots_.size()) {
    slots_.assign(slots_.size() * 2, Slot{});
    for (std::uint32_t i = 0; i < hashes_.size(); ++i) insert(hashes_[i], i);
  } else {
    insert(hash, static_cast<std::uint32_t>(names_.size() - 1));
  }
  return names_.back();
}

std::uint32_t NameCache::index(KnownName& name) {
  if (name.index == KnownName::no_index) name.index = strings_.index(clean_text(name.raw));
  return name.index;
}

const KernelClass& NameCache::kernel(KnownName& name) {
  if (!name.classified) {
    name.kernel = classifier_.kernel(clean_text(name.raw));
    name.classified = true;
  }
  return name.kernel;
}

bool NameCache::keeps_slice(KnownName& name) {
  if (!name.asked_slice) {
    name.keeps_slice = classifier_.keeps_slice(clean_text(name.raw));
    name.asked_slice = true;
  }
  return name.keeps_slice;
}

const KnownName& NameCache::call(KnownName& name) {
  if (!name.asked_call) {
    name.launches = !never_launches(name.raw);
    name.graph = contains(name.raw, "Graph");
    name.kernel_launch = launches_a_kernel(name.raw);
    name.synchronises = contains(name.raw, "Synchronize");
    name.asked_call = true;
  }
  return name;
}

}  // namespace ccl
