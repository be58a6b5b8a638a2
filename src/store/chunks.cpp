#include "store/chunks.hpp"

#include <zlib.h>

#include <new>

namespace ccl {

Bytes finish_chunk(std::span<const std::byte> rows, std::size_t element_bytes, std::size_t chunk_bytes) {
  Bytes shuffled(chunk_bytes);
  const std::size_t elements = chunk_bytes / element_bytes;
  const std::size_t filled = rows.size() / element_bytes;
  for (std::size_t i = 0; i < element_bytes; ++i) {
    std::byte* to = shuffled.data() + i * elements;
    const std::byte* from = rows.data() + i;
    for (std::size_t element = 0; element < filled; ++element) to[element] = from[element * element_bytes];
  }
  uLongf size = compressBound(static_cast<uLong>(chunk_bytes));
  Bytes out(size);
  const int status =
      compress2(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(shuffled.data()),
                static_cast<uLong>(chunk_bytes), Z_BEST_SPEED);
  if (status != Z_OK) throw std::bad_alloc();  // the only way compress2 fails with a buffer of compressBound
  out.resize(size);
  return out;
}

}  // namespace ccl
