// Columns of numbers on their way to another worker: each in as few bytes as the largest of them needs.
#pragma once
#include <cstdint>
#include <vector>

#include "core/bytes.hpp"
#include "core/zigzag.hpp"

namespace ccl {

template <class Word, class At>
void pack_words(std::size_t count, At at, ByteWriter& out) {
  std::vector<Word> words(count);
  for (std::size_t i = 0; i < count; ++i) words[i] = static_cast<Word>(at(i));
  out.array(words);
}

/// at(i): the i-th number, without sign.
template <class At>
void pack_numbers(std::size_t count, At at, ByteWriter& out) {
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < count; ++i) all |= at(i);
  const std::uint8_t bytes = all <= UINT8_MAX ? 1 : all <= UINT16_MAX ? 2 : all <= UINT32_MAX ? 4 : 8;
  out.value(bytes);
  if (bytes == 1) pack_words<std::uint8_t>(count, at, out);
  if (bytes == 2) pack_words<std::uint16_t>(count, at, out);
  if (bytes == 4) pack_words<std::uint32_t>(count, at, out);
  if (bytes == 8) pack_words<std::uint64_t>(count, at, out);
}

template <class Word, class Take>
void unpack_words(ByteReader& in, Take take) {
  std::size_t i = 0;
  for (const Word word : in.array<Word>()) take(i++, std::uint64_t{word});
}

/// take(i, number) for each in order.
template <class Take>
void unpack_numbers(ByteReader& in, Take take) {
  const auto bytes = in.value<std::uint8_t>();
  if (bytes == 1) unpack_words<std::uint8_t>(in, take);
  if (bytes == 2) unpack_words<std::uint16_t>(in, take);
  if (bytes == 4) unpack_words<std::uint32_t>(in, take);
  if (bytes == 8) unpack_words<std::uint64_t>(in, take);
}

/// What each is more or less than the one before.
template <class At>
void pack_differences(std::size_t count, At at, ByteWriter& out) {
  const std::int64_t first = count == 0 ? 0 : at(0);
  out.value(first);
  pack_numbers(count, [&](std::size_t i) { return zigzag_between(i == 0 ? first : at(i - 1), at(i)); }, out);
}

template <class Take>
void unpack_differences(ByteReader& in, Take take) {
  auto value = in.value<std::int64_t>();
  unpack_numbers(in, [&](std::size_t i, std::uint64_t difference) { take(i, value = after_zigzag(value, difference)); });
}

}  // namespace ccl
