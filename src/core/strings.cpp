#include "core/strings.hpp"

#include <stdexcept>

namespace ccl {

StringTable::StringTable() { clear(); }

void StringTable::clear() {
  texts_.clear();
  ids_.clear();
  slots_.assign(256, 0);
  index("");
}

std::uint32_t StringTable::index(std::string_view text) {
  const StringId id = string_id(text);
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = id.value & mask;
  while (slots_[slot] != 0) {
    const std::uint32_t found = slots_[slot] - 1;
    if (ids_[found] == id) {
      if (texts_[found] != text)
        throw std::logic_error("two texts have one hash: '" + texts_[found] + "' and '" + std::string(text) + "'");
      return found;
    }
    slot = (slot + 1) & mask;
  }
  const auto added = static_cast<std::uint32_t>(texts_.size());
  texts_.emplace_back(text);
  ids_.push_back(id);
  slots_[slot] = added + 1;
  if (texts_.size() * 2 > slots_.size()) rehash(slots_.size() * 2);
  return added;
}

std::string_view StringTable::text(StringId id) const {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t slot = id.value & mask; slots_[slot] != 0; slot = (slot + 1) & mask)
    if (ids_[slots_[slot] - 1] == id) return texts_[slots_[slot] - 1];
  return {};
}

void StringTable::unite(const StringTable& other) {
  for (const std::string& text : other.texts_) index(text);
}

void StringTable::rehash(std::size_t slots) {
  slots_.assign(slots, 0);
  for (std::size_t i = 0; i < ids_.size(); ++i) {
    std::size_t slot = ids_[i].value & (slots - 1);
    while (slots_[slot] != 0) slot = (slot + 1) & (slots - 1);
    slots_[slot] = static_cast<std::uint32_t>(i) + 1;
  }
}

}  // namespace ccl
