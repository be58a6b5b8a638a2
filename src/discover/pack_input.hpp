// Input <-> bytes, for the broadcast from worker 0.
#pragma once
#include "core/bytes.hpp"
#include "discover/discover.hpp"

namespace ccl {

Bytes pack(const Input& input);
Input unpack_input(std::span<const std::byte> bytes);

}  // namespace ccl
