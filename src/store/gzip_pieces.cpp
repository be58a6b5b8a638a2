#include "store/gzip_pieces.hpp"

#include <algorithm>
#include <climits>
#include <stdexcept>

#include <zlib.h>

namespace ccl {

GzipPiece gzip_piece(std::string_view text) {
  GzipPiece piece;
  piece.plain_bytes = static_cast<std::int64_t>(text.size());
  z_stream stream{};
  if (deflateInit2(&stream, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK) throw std::bad_alloc();
  piece.crc = static_cast<std::uint32_t>(crc32(0, nullptr, 0));
  std::string out(1 << 18, '\0');
  for (std::size_t at = 0; at < text.size() || at == 0;) {
    const std::size_t part = std::min<std::size_t>(text.size() - at, 1 << 30);
    const auto* from = reinterpret_cast<const Bytef*>(text.data() + at);
    piece.crc = static_cast<std::uint32_t>(crc32(piece.crc, from, static_cast<uInt>(part)));
    stream.next_in = const_cast<Bytef*>(from);
    stream.avail_in = static_cast<uInt>(part);
    at += part;
    do {
      stream.next_out = reinterpret_cast<Bytef*>(out.data());
      stream.avail_out = static_cast<uInt>(out.size());
      deflate(&stream, Z_FULL_FLUSH);
      piece.bytes.append(out.data(), out.size() - stream.avail_out);
    } while (stream.avail_out == 0);
    if (text.empty()) break;
  }
  deflateEnd(&stream);
  return piece;
}

std::string gzip_file_text(const std::vector<GzipPiece>& pieces) {
  std::string out("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff", 10);
  std::uint32_t crc = static_cast<std::uint32_t>(crc32(0, nullptr, 0));
  std::int64_t plain_bytes = 0;
  for (const GzipPiece& piece : pieces) {
    out += piece.bytes;
    crc = static_cast<std::uint32_t>(crc32_combine(crc, piece.crc, static_cast<z_off_t>(piece.plain_bytes)));
    plain_bytes += piece.plain_bytes;
  }
  out.append("\x03\x00", 2);  // an empty last block
  for (const std::uint32_t word : {crc, static_cast<std::uint32_t>(plain_bytes & 0xffffffff)})
    for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>(word >> shift & 0xff));
  return out;
}

}  // namespace ccl
