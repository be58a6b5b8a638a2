// Rows added to a column to be written at once.
#pragma once
#include <span>

#include "core/column.hpp"

namespace ccl {

template <class T>
std::span<T> added_rows(Column<T>& to, std::size_t count) {
  const std::size_t before = to.size();
  to.resize(before + count);
  return {to.begin() + before, count};
}

}  // namespace ccl
