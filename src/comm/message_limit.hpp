// MPI counts are int: longer messages travel in pieces of at most this many bytes. Only tests lower it, to see the
// cutting without gigabytes; all workers must use the same value.
#pragma once
#include <cstddef>

namespace ccl {

inline constexpr std::size_t largest_message_bytes = std::size_t{1} << 30;

/// Replaces the limit in this process; 0 restores largest_message_bytes.
void limit_messages_for_test(std::size_t bytes);

}  // namespace ccl
