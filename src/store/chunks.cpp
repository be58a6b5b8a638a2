#include "store/chunks.hpp"

#include <zlib.h>

#if defined(CCL_HAVE_ISAL)
#include <isa-l/igzip_lib.h>
#endif

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>

namespace ccl {
namespace {

/// Byte i of eight elements after one another, for each of `bytes` i from where `from` points: to, to + apart, ... An 8 × 8
/// transposition in registers (Warren, Hacker's Delight, 7-3), little-endian.
template <std::size_t bytes>
void shuffle_eight(const std::byte* from, std::size_t element_bytes, std::byte* to, std::size_t apart) {
  std::uint64_t words[8] = {};
  for (std::size_t e = 0; e < 8; ++e) std::memcpy(&words[e], from + e * element_bytes, bytes);
  const auto swap = [&](std::size_t step, int bits, std::uint64_t low) {
    for (std::size_t e = 0; e < 8; ++e) {
      if ((e & step) != 0) continue;
      const std::uint64_t moved = (words[e] >> bits ^ words[e + step]) & low;
      words[e + step] ^= moved;
      words[e] ^= moved << bits;
    }
  };
  swap(4, 32, 0x00000000FFFFFFFF);
  swap(2, 16, 0x0000FFFF0000FFFF);
  swap(1, 8, 0x00FF00FF00FF00FF);
  for (std::size_t i = 0; i < bytes; ++i) std::memcpy(to + i * apart, &words[i], 8);
}

/// `bytes` bytes of each of `count` elements, a multiple of eight.
template <std::size_t bytes>
void shuffle_bytes(const std::byte* from, std::size_t count, std::size_t element_bytes, std::byte* to, std::size_t apart) {
  for (std::size_t e = 0; e < count; e += 8) shuffle_eight<bytes>(from + e * element_bytes, element_bytes, to + e, apart);
}

/// Returns how many of the first elements were shuffled.
std::size_t shuffle_by_eights(std::span<const std::byte> rows, std::size_t element_bytes, std::byte* to, std::size_t apart) {
  if constexpr (std::endian::native != std::endian::little) return 0;
  if (element_bytes < 4) return 0;
  // So many elements at once that they stay in the first-level cache while some bytes after others are taken of all.
  constexpr std::size_t cached_bytes = std::size_t{16} << 10;
  const std::size_t at_once = std::max<std::size_t>(64, cached_bytes / element_bytes / 64 * 64);
  const std::size_t all = rows.size() / element_bytes / 8 * 8;
  for (std::size_t first = 0; first < all; first += at_once) {
    const std::size_t count = std::min(at_once, all - first);
    const std::byte* const from = rows.data() + first * element_bytes;
    const auto take = [&]<std::size_t bytes>(std::integral_constant<std::size_t, bytes>, std::size_t offset) {
      shuffle_bytes<bytes>(from + offset, count, element_bytes, to + offset * apart + first, apart);
    };
    using Eight = std::integral_constant<std::size_t, 8>;
    using Four = std::integral_constant<std::size_t, 4>;
    for (std::size_t offset = 0; offset + 8 <= element_bytes; offset += 8) take(Eight(), offset);
    // The last bytes together with some that were taken already.
    if (element_bytes < 8) take(Four(), 0);
    if (element_bytes > 8 && element_bytes % 8 != 0) take(Eight(), element_bytes - 8);
    else if (element_bytes % 4 != 0) take(Four(), element_bytes - 4);
  }
  return all;
}

}  // namespace

#if defined(CCL_HAVE_ISAL)
constexpr std::size_t work_bytes = ISAL_DEF_LVL1_DEFAULT;
#else
constexpr std::size_t work_bytes = 0;
#endif

ChunkFinisher::ChunkFinisher(std::size_t element_bytes, std::size_t chunk_bytes)
    : element_bytes_(element_bytes),
      chunk_bytes_(chunk_bytes),
      deflated_bytes_(compressBound(static_cast<uLong>(chunk_bytes))),
      shuffled_(std::make_unique_for_overwrite<std::byte[]>(chunk_bytes)),
      deflated_(std::make_unique_for_overwrite<std::byte[]>(deflated_bytes_)),
      work_(std::make_unique_for_overwrite<std::byte[]>(work_bytes)) {}

std::span<const std::byte> ChunkFinisher::finish(std::span<const std::byte> rows) {
  shuffle(rows);
  return deflate();
}

void ChunkFinisher::shuffle(std::span<const std::byte> rows) {
  const std::size_t elements = chunk_bytes_ / element_bytes_, filled = rows.size() / element_bytes_;
  const std::size_t done = shuffle_by_eights(rows, element_bytes_, shuffled_.get(), elements);
  for (std::size_t i = 0; i < element_bytes_; ++i) {
    std::byte* const to = shuffled_.get() + i * elements;
    for (std::size_t element = done; element < filled; ++element) to[element] = rows[element * element_bytes_ + i];
    std::fill_n(to + filled, elements - filled, std::byte{0});
  }
}

/// As zlib writes it.
std::span<const std::byte> ChunkFinisher::deflate() {
#if defined(CCL_HAVE_ISAL)
  isal_zstream stream;
  isal_deflate_stateless_init(&stream);
  stream.hist_bits = 0;  // the whole window; the line above leaves what lay there, and 1 to 15 would be a smaller one
  stream.level = 1;
  stream.level_buf = reinterpret_cast<std::uint8_t*>(work_.get());
  stream.level_buf_size = static_cast<std::uint32_t>(work_bytes);
  stream.gzip_flag = IGZIP_ZLIB;
  stream.end_of_stream = 1;
  stream.next_in = reinterpret_cast<std::uint8_t*>(shuffled_.get());
  stream.avail_in = static_cast<std::uint32_t>(chunk_bytes_);
  stream.next_out = reinterpret_cast<std::uint8_t*>(deflated_.get());
  stream.avail_out = static_cast<std::uint32_t>(deflated_bytes_);
  if (isal_deflate_stateless(&stream) == COMP_OK) return {deflated_.get(), stream.total_out};
#endif
  uLongf size = deflated_bytes_;
  const int status = compress2(reinterpret_cast<Bytef*>(deflated_.get()), &size, reinterpret_cast<const Bytef*>(shuffled_.get()),
                               static_cast<uLong>(chunk_bytes_), Z_BEST_SPEED);
  if (status != Z_OK) throw std::bad_alloc();  // the only way compress2 fails with a buffer of compressBound
  return {deflated_.get(), size};
}

}  // namespace ccl
