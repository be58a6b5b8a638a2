// Rows -> a finished HDF5 chunk: HDF5's shuffle filter (byte i of every element together), then deflate. Pure; every
// worker does this for its own rows, so that worker 0 only has to place the result.
#pragma once
#include <cstddef>
#include <memory>
#include <span>

namespace ccl {

/// Of one dataset: what it works in is kept from chunk to chunk.
class ChunkFinisher {
 public:
  ChunkFinisher(std::size_t element_bytes, std::size_t chunk_bytes);
  /// rows: at most chunk_bytes, a whole number of elements; the rest of the chunk becomes zeros, as HDF5 pads it. What it
  /// returns lasts until the next call.
  std::span<const std::byte> finish(std::span<const std::byte> rows);

 private:
  void shuffle(std::span<const std::byte> rows);
  std::span<const std::byte> deflate();

  std::size_t element_bytes_, chunk_bytes_, deflated_bytes_;
  std::unique_ptr<std::byte[]> shuffled_, deflated_, work_;
};

}  // namespace ccl
