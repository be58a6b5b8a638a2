// One gzip file whose parts were compressed by different workers. Each part ends on a byte border, so that parts are
// joined as they are and every reader sees a single member.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ccl {

struct GzipPiece {
  std::string bytes;
  std::uint32_t crc = 0;
  std::int64_t plain_bytes = 0;
};

/// Cost: one pass of zlib, level 6.
GzipPiece gzip_piece(std::string_view text);

/// The whole file: header, the pieces in this order, end.
std::string gzip_file_text(const std::vector<GzipPiece>& pieces);

}  // namespace ccl
