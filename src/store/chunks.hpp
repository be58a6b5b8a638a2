// Rows -> a finished HDF5 chunk: HDF5's shuffle filter (byte i of every element together), then deflate. Pure; every
// worker does this for its own rows, so that worker 0 only has to place the result.
#pragma once
#include <cstddef>
#include <span>

#include "core/bytes.hpp"

namespace ccl {

/// rows: at most chunk_bytes, a whole number of elements; the rest of the chunk becomes zeros, as HDF5 pads it.
Bytes finish_chunk(std::span<const std::byte> rows, std::size_t element_bytes, std::size_t chunk_bytes);

}  // namespace ccl
