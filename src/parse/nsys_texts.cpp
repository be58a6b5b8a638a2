// The texts of NVTX ranges: kept once each, and what they say worked out once each. Names of kernels.
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

// PyTorch numbers every operation. A text is kept without its numbers, so that equal operations have one text.
void NsysBuild::set_text(Range& range, std::string_view raw) {
  constexpr std::size_t slots = 512, word_bytes = 8;
  const RangeText parts = parts_of_range_text(raw);
  const std::string_view name = parts.name;
  const std::size_t size = name.size() + parts.numbered.size();
  if (recent_texts_.empty()) recent_texts_.resize(slots);
  std::uint64_t hash = size;
  const auto add = [&](const char* at, std::size_t bytes) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, bytes);
    hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
    hash ^= hash >> 29;
  };
  if (name.size() >= word_bytes) {
    for (const std::size_t at : {std::size_t{0}, (name.size() - word_bytes) / 2, name.size() - word_bytes})
      add(name.data() + at, word_bytes);
  } else if (!name.empty()) {
    add(name.data(), name.size());
  }
  RecentText& recent = recent_texts_[hash % slots];
  if (size == 0 || recent.text.size() != size || !recent.text.starts_with(name) || !recent.text.ends_with(parts.numbered)) {
    recent.text = std::string(name).append(parts.numbered);
    recent.index = texts_.index(std::string_view(recent.text).substr(0, recent.text.find('\0')));
  }
  range.text_id = -1 - static_cast<std::int64_t>(recent.index);
}

const NsysBuild::TextFacts& NsysBuild::facts_of(const Range& range) {
  const auto [at, added] = facts_.try_emplace(range.text_id);
  TextFacts& facts = at->second;
  if (!added) return facts;
  const std::string_view text = text_of(range);
  facts.rank = labelled(text, "rank=");
  if (facts.rank >= 0) facts.world = labelled(text, "world_size=");
  facts.sits_down = text.starts_with("ncclComm");
  const StepMarker marker = step_marker_in_range(text);
  facts.step = marker.number;
  facts.step_kind = marker.kind;
  facts.unknown = range.text_id >= 0 && !strings_.contains(range.text_id);
  facts.sequence = parts_of_range_text(text).sequence;
  // NCCL's own calls are read by add_collectives(); as annotations they would look like repeated parts of a model.
  facts.own_of_nccl = text.starts_with("nccl") && !text.starts_with("nccl:");
  // A survey asks for ranks and communicators only and brings no classifier.
  const bool kept = options_.classifier != nullptr && options_.classifier->keeps_slice(text);
  facts.wanted = facts.step >= 0 || options_.wants.annotations || kept;
  return facts;
}

std::vector<bool> NsysBuild::resolve_names(Process& process) {
  RankTrace& trace = process.trace;
  struct Named {
    std::uint32_t name = 0;
    EventKind kind = EventKind::compute;
    bool unknown = false;
  };
  std::unordered_map<std::uint32_t, Named> known;
  std::vector<bool> nameless;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    std::uint32_t& name = trace.events.name[i];
    if (trace.events.kind[i] != EventKind::compute) {
      name = trace.strings.index(texts_.text(name));
      continue;
    }
    const auto [found, added] = known.try_emplace(name);
    Named& named = found->second;
    if (added) {
      const auto text = strings_.find(name);
      named.unknown = text == strings_.end() || text->second.empty();
      const std::string& shown = named.unknown ? "kernel" : text->second;
      named.name = trace.strings.index(shown);
      named.kind = options_.classifier->kernel(shown).kind;
    }
    name = named.name;
    trace.events.kind[i] = named.kind;
    if (!named.unknown) continue;
    nameless.resize(trace.events.size());
    nameless[i] = true;
    ++process.nameless_kernels;
  }
  return nameless;
}

}  // namespace ccl
