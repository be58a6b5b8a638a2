// Column<T>: one growing array of plain values, the storage of everything that grows with a trace.
// It grows in chunks into addresses that it has reserved, and where these end by moving pages, not bytes (mremap), so nothing
// is copied and no second buffer is ever needed; clear() keeps the pages, since the first touch of memory costs more than
// parsing into it.
#pragma once
#include <sys/mman.h>

#include <cstddef>
#include <cstring>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include "core/address_limits.hpp"

namespace ccl {

template <class T>
class Column {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Column() = default;
  Column(Column&& other) noexcept { swap(other); }
  Column& operator=(Column&& other) noexcept {
    swap(other);
    return *this;
  }
  Column(const Column&) = delete;
  Column& operator=(const Column&) = delete;
  ~Column() {
    if (data_ != nullptr) munmap(static_cast<void*>(data_), reserved_bytes_);
  }

  void push_back(const T& value) {
    if ((size_ + 1) * sizeof(T) > capacity_bytes_) grow((size_ + 1) * sizeof(T));
    data_[size_++] = value;
  }
  void resize(std::size_t size) {
    if (size * sizeof(T) > capacity_bytes_) grow(size * sizeof(T));
    for (std::size_t i = size_; i < size; ++i) data_[i] = T{};
    size_ = size;
  }
  /// Room for more rows at the end, to be written at once: what they hold until then is not said.
  std::span<T> add_rows(std::size_t count) {
    if ((size_ + count) * sizeof(T) > capacity_bytes_) grow((size_ + count) * sizeof(T));
    size_ += count;
    return {data_ + (size_ - count), count};
  }
  void clear() { size_ = 0; }
  void swap(Column& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_bytes_, other.capacity_bytes_);
    std::swap(reserved_bytes_, other.reserved_bytes_);
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& back() { return data_[size_ - 1]; }
  std::span<const T> span() const { return {data_, size_}; }
  std::size_t capacity_bytes() const { return capacity_bytes_; }

 private:
  static constexpr std::size_t first_chunk_bytes = std::size_t{64} << 10;
  static constexpr std::size_t largest_chunk_bytes = std::size_t{4} << 20;

  void grow(std::size_t needed_bytes) {
    std::size_t chunk = capacity_bytes_ < first_chunk_bytes ? first_chunk_bytes : capacity_bytes_ / 4;
    if (chunk > largest_chunk_bytes) chunk = largest_chunk_bytes;
    std::size_t wanted = capacity_bytes_ + chunk;
    if (wanted < needed_bytes) wanted = needed_bytes;
    wanted = (wanted + first_chunk_bytes - 1) / first_chunk_bytes * first_chunk_bytes;
    if (wanted > reserved_bytes_) reserve(wanted);
    // Advice only: failure costs speed. Of all, for what is advised in part can not be moved.
    if (wanted >= largest_chunk_bytes) madvise(data_, reserved_bytes_, MADV_HUGEPAGE);
    capacity_bytes_ = wanted;
  }

  /// Addresses alone: pages come when they are written. To move them stops the other threads of the process for a moment.
  void reserve(std::size_t wanted) {
    std::size_t reserved = unused_addresses_are_free() ? wanted * 4 : wanted;
    void* moved = mapped(reserved);
    if (moved == MAP_FAILED) moved = mapped(reserved = wanted);  // addresses are limited here
    if (moved == MAP_FAILED) throw std::bad_alloc();
    data_ = static_cast<T*>(moved);
    reserved_bytes_ = reserved;
  }

  /// MAP_FAILED: all is as before.
  void* mapped(std::size_t wanted) {
    constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    if (data_ == nullptr) return mmap(nullptr, wanted, PROT_READ | PROT_WRITE, flags, -1, 0);
#ifdef __SANITIZE_THREAD__
    // ThreadSanitizer does not see mremap: who wrote there before would be in a race with who writes there now.
    void* moved = mmap(nullptr, wanted, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (moved == MAP_FAILED) return moved;
    std::memcpy(moved, data_, size_ * sizeof(T));
    munmap(static_cast<void*>(data_), reserved_bytes_);
    return moved;
#else
    return mremap(static_cast<void*>(data_), reserved_bytes_, wanted, MREMAP_MAYMOVE);
#endif
  }

  T* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_bytes_ = 0;
  std::size_t reserved_bytes_ = 0;
};

}  // namespace ccl
