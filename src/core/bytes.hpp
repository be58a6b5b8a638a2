// Packing for messages between workers: plain values, texts and arrays into one byte buffer and back.
// Both ends run the same program, so there is no versioning; a read past the end is our bug and throws.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace ccl {

using Bytes = std::vector<std::byte>;

class ByteWriter {
 public:
  template <class T>
    requires std::is_trivially_copyable_v<T>
  void value(const T& v) {
    raw(&v, sizeof v);
  }
  void text(std::string_view t) {
    value<std::uint64_t>(t.size());
    raw(t.data(), t.size());
  }
  template <class T>
    requires std::is_trivially_copyable_v<T>
  void array(std::span<const T> values) {
    value<std::uint64_t>(values.size());
    raw(values.data(), values.size_bytes());
  }
  template <class T>
  void array(const std::vector<T>& values) {
    array(std::span<const T>(values));
  }
  /// So that what comes is not copied as it grows.
  void reserve(std::size_t more) { bytes_.reserve(bytes_.size() + more); }
  Bytes take() { return std::move(bytes_); }
  std::size_t size() const { return bytes_.size(); }

 private:
  // Inlined into a caller that knows the count, GCC 12 sees overflows of the vector that can not be.
  [[gnu::noinline]] void raw(const void* from, std::size_t count) {
    if (count == 0) return;
    const auto* at = static_cast<const std::byte*>(from);
    bytes_.insert(bytes_.end(), at, at + count);
  }
  Bytes bytes_;
};

class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  template <class T>
    requires std::is_trivially_copyable_v<T>
  T value() {
    T v{};
    raw(&v, sizeof v);
    return v;
  }
  std::string text() {
    std::string t(value<std::uint64_t>(), '\0');
    raw(t.data(), t.size());
    return t;
  }
  template <class T>
  std::vector<T> array() {
    std::vector<T> values(value<std::uint64_t>());
    raw(values.data(), values.size() * sizeof(T));
    return values;
  }
  /// An array of bytes, where it lies.
  std::span<const std::byte> bytes() {
    const auto count = value<std::uint64_t>();
    if (count > bytes_.size()) throw std::logic_error("message ends too early");
    const std::span<const std::byte> all = std::exchange(bytes_, bytes_.subspan(count));
    return all.first(count);
  }
  /// An array, behind the rows of a Column.
  template <class Rows>
  void add_to(Rows& column) {
    const auto rows = column.add_rows(value<std::uint64_t>());
    raw(rows.data(), rows.size_bytes());
  }
  /// Of the array that comes next.
  std::size_t array_size() const { return ByteReader(*this).value<std::uint64_t>(); }
  /// Calls use(value) for each of an array, which is not copied as a whole.
  template <class T, class Use>
  void each(Use use) {
    for (auto left = value<std::uint64_t>(); left > 0; --left) use(value<T>());
  }
  bool at_end() const { return bytes_.empty(); }

 private:
  void raw(void* to, std::size_t count) {
    if (count > bytes_.size()) throw std::logic_error("message ends too early");
    if (count == 0) return;
    std::memcpy(to, bytes_.data(), count);
    bytes_ = bytes_.subspan(count);
  }
  std::span<const std::byte> bytes_;
};

}  // namespace ccl
