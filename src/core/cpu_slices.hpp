// CPU slices of a trace, packed, since there are as many as GPU events: 16 bytes each. One that does not fit (longer than
// 4 s, 39 hours from the first, more than 65536 threads) takes 32 more. Written and read as whole CpuSlices.
#pragma once
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "core/bytes.hpp"
#include "core/column.hpp"

namespace ccl {

enum class SliceKind : std::uint8_t { user_annotation, cpu_op, python_function, runtime, other };

/// A kept slice of a CPU thread.
struct CpuSlice {
  std::int64_t start_ns = 0, end_ns = 0;
  std::uint32_t name = 0;    // index into RankTrace::strings
  std::uint32_t thread = 0;  // index into RankTrace::threads
  SliceKind kind = SliceKind::other;
  bool numbered = false;     // it has an autograd sequence number
};

class CpuSlices {
 public:
  class Iterator;

  void push_back(const CpuSlice& slice);
  CpuSlice operator[](std::size_t i) const { return unpacked(packed_[i]); }
  std::size_t size() const { return packed_.size(); }
  bool empty() const { return packed_.empty(); }
  Iterator begin() const;
  Iterator end() const;

  /// Moves all times.
  void shift(std::int64_t ns);
  /// By (thread, start, −end); of equal ones the first stays first. 8 bytes a slice while they are not in order.
  void sort();
  /// Keeps the memory.
  void clear();
  void swap(CpuSlices& other) noexcept;
  std::size_t capacity_bytes() const { return packed_.capacity_bytes() + wide_.capacity_bytes(); }

  void pack(ByteWriter& out) const;
  static CpuSlices unpack(ByteReader& in);

 private:
  struct Packed {
    std::uint64_t place;   // thread, start − base
    std::uint32_t length;  // of a wide one its index
    std::uint32_t what;    // wide, numbered, kind, name
  };
  static constexpr int start_bits = 48, name_bits = 27;
  static constexpr std::uint64_t start_mask = (std::uint64_t{1} << start_bits) - 1;
  static constexpr std::uint32_t name_mask = (std::uint32_t{1} << name_bits) - 1;
  static constexpr std::uint32_t numbered_bit = std::uint32_t{1} << 30, wide_bit = std::uint32_t{1} << 31;

  CpuSlice unpacked(const Packed& from) const {
    if ((from.what & wide_bit) != 0) [[unlikely]] return wide_[from.length];
    const auto start_ns = static_cast<std::int64_t>(static_cast<std::uint64_t>(base_ns_) + (from.place & start_mask));
    return {start_ns, start_ns + from.length, from.what & name_mask, static_cast<std::uint32_t>(from.place >> start_bits),
            static_cast<SliceKind>(from.what >> name_bits & 7U), (from.what & numbered_bit) != 0};
  }

  Column<Packed> packed_;
  Column<CpuSlice> wide_;
  std::int64_t base_ns_ = 0;
};

class CpuSlices::Iterator {
 public:
  using iterator_category = std::forward_iterator_tag;
  using value_type = CpuSlice;
  using difference_type = std::ptrdiff_t;
  using pointer = const CpuSlice*;
  using reference = CpuSlice;

  Iterator() = default;
  Iterator(const CpuSlices& of, std::size_t at) : of_(&of), at_(at) {}
  CpuSlice operator*() const { return (*of_)[at_]; }
  Iterator& operator++() { return ++at_, *this; }
  Iterator operator++(int) { return {*of_, at_++}; }
  friend bool operator==(const Iterator& a, const Iterator& b) { return a.at_ == b.at_; }

 private:
  const CpuSlices* of_ = nullptr;
  std::size_t at_ = 0;
};

inline CpuSlices::Iterator CpuSlices::begin() const { return {*this, 0}; }
inline CpuSlices::Iterator CpuSlices::end() const { return {*this, size()}; }

}  // namespace ccl
