// StringTable: text <-> small local index <-> StringId (hash). A trace has one for its event names; a worker has
// one for every text that leaves in metric rows. Tables of two workers unite without renumbering.
#pragma once
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "core/ids.hpp"

namespace ccl {

class StringTable {
 public:
  StringTable();

  /// Local index of the text, added if new. Looking up a known text allocates nothing.
  std::uint32_t index(std::string_view text);
  /// Id of the text, added if new.
  StringId intern(std::string_view text) { return ids_[index(text)]; }

  std::string_view text(std::uint32_t index) const { return texts_[index]; }
  StringId id(std::uint32_t index) const { return ids_[index]; }
  /// The text of an id; empty for the empty id and for one that is not in the table.
  std::string_view text(StringId id) const;

  std::size_t size() const { return texts_.size(); }
  void clear();
  /// Adds every text of the other table. Two texts with one hash are our bug: throws std::logic_error naming both.
  void unite(const StringTable& other);

 private:
  void rehash(std::size_t slots);
  std::deque<std::string> texts_;
  std::vector<StringId> ids_;
  std::vector<std::uint32_t> slots_;  // open addressing by hash; value = index + 1, 0 = empty
};

}  // namespace ccl
