// The texts of NVTX ranges: kept once each, and what they say worked out once each.
#include <algorithm>
#include <charconv>
#include <cctype>
#include <cstring>

#include "parse/nsys_build.hpp"
#include "parse/nsys_steps.hpp"

namespace ccl {
namespace {

// "…rank=3…" as a word of its own; −1 if absent.
std::int32_t labelled(std::string_view text, std::string_view key) {
  for (std::size_t at = text.find(key); at != std::string_view::npos; at = text.find(key, at + 1)) {
    if (at > 0 && (std::isalnum(static_cast<unsigned char>(text[at - 1])) != 0 || text[at - 1] == '_')) continue;
    std::int32_t value = -1;
    const char* from = text.data() + at + key.size();
    if (std::from_chars(from, text.data() + text.size(), value).ec == std::errc()) return value;
  }
  return -1;
}

}  // namespace

std::string_view NsysBuild::text_of(const Range& range) const {
  if (range.text_id < 0) return texts_.text(static_cast<std::uint32_t>(-1 - range.text_id));
  const auto found = strings_.find(range.text_id);
  return found == strings_.end() ? std::string_view() : found->second;
}

std::uint32_t NsysBuild::index_of_text(std::string_view raw) {
  constexpr std::size_t slots = 512;
  if (raw.empty()) return texts_.index(raw);
  if (recent_texts_.empty()) recent_texts_.resize(slots);
  std::uint64_t hash = raw.size();
  for (const std::size_t at : {std::size_t{0}, raw.size() / 2, raw.size() - std::min<std::size_t>(raw.size(), 8)}) {
    std::uint64_t word = 0;
    std::memcpy(&word, raw.data() + at, std::min<std::size_t>(8, raw.size() - at));
    hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
    hash ^= hash >> 29;
  }
  RecentText& recent = recent_texts_[hash % slots];
  if (recent.raw.empty() || recent.raw != raw) recent = {std::string(raw), texts_.index(raw.substr(0, raw.find('\0')))};
  return recent.index;
}

const NsysBuild::TextFacts& NsysBuild::facts_of(const Range& range) {
  const auto [at, added] = facts_.try_emplace(range.text_id);
  TextFacts& facts = at->second;
  if (!added) return facts;
  const std::string_view text = text_of(range);
  facts.rank = labelled(text, "rank=");
  if (facts.rank >= 0) facts.world = labelled(text, "world_size=");
  facts.sits_down = text.starts_with("ncclComm");
  facts.step = step_number_in_range(text);
  facts.sequence = sequence_in_range(text);
  // NCCL's own calls are read by add_collectives(); as annotations they would look like repeated parts of a model.
  facts.own_of_nccl = text.starts_with("nccl") && !text.starts_with("nccl:");
  // A survey asks for ranks and communicators only and brings no classifier.
  const bool kept = options_.classifier != nullptr && options_.classifier->keeps_slice(text);
  facts.wanted = facts.step >= 0 || options_.wants.annotations || kept;
  return facts;
}

}  // namespace ccl
