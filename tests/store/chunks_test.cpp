#include "store/chunks.hpp"

#include <gtest/gtest.h>
#include <zlib.h>

#include <numeric>
#include <vector>

namespace ccl {
namespace {

std::vector<std::byte> inflated(std::span<const std::byte> packed, std::size_t bytes) {
  std::vector<std::byte> out(bytes);
  uLongf size = bytes;
  EXPECT_EQ(uncompress(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(packed.data()),
                       static_cast<uLong>(packed.size())),
            Z_OK);
  EXPECT_EQ(size, bytes);
  return out;
}

std::vector<std::byte> some_bytes(std::size_t count) {
  std::vector<std::byte> out(count);
  for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<std::byte>(i * 167 + i / 251);
  return out;
}

TEST(Chunks, ByteIOfAllElementsTogetherWhateverTheirSize) {
  for (std::size_t element_bytes = 1; element_bytes <= 41; ++element_bytes) {
    const std::size_t elements = 1003;
    ChunkFinisher finisher(element_bytes, element_bytes * elements);
    for (const std::size_t filled : {elements, std::size_t{640}, std::size_t{7}, std::size_t{0}, elements}) {
      const std::vector<std::byte> rows = some_bytes(filled * element_bytes);
      std::vector<std::byte> expected(element_bytes * elements);
      for (std::size_t e = 0; e < filled; ++e)
        for (std::size_t i = 0; i < element_bytes; ++i) expected[i * elements + e] = rows[e * element_bytes + i];
      ASSERT_EQ(inflated(finisher.finish(rows), expected.size()), expected) << element_bytes << " bytes, " << filled << " rows";
    }
  }
}

}  // namespace
}  // namespace ccl
