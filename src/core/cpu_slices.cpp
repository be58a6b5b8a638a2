#include "core/cpu_slices.hpp"

#include <algorithm>
#include <tuple>

namespace ccl {

void CpuSlices::push_back(const CpuSlice& slice) {
  const auto start_ns = static_cast<std::uint64_t>(slice.start_ns), end_ns = static_cast<std::uint64_t>(slice.end_ns);
  if (empty()) base_ns_ = static_cast<std::int64_t>(start_ns - (start_mask + 1) / 2);
  const std::uint64_t start = start_ns - static_cast<std::uint64_t>(base_ns_);
  const std::uint64_t length = end_ns - start_ns;  // one that ends before it starts is long
  const std::uint32_t what = static_cast<std::uint32_t>(slice.kind) << name_bits | (slice.numbered ? numbered_bit : 0);
  if (start <= start_mask && length <= UINT32_MAX && slice.thread <= UINT16_MAX && slice.name <= name_mask)
    return packed_.push_back({std::uint64_t{slice.thread} << start_bits | start, static_cast<std::uint32_t>(length), what | slice.name});
  packed_.push_back({0, static_cast<std::uint32_t>(wide_.size()), wide_bit});
  wide_.push_back(slice);
}

void CpuSlices::shift(std::int64_t ns) {
  base_ns_ = static_cast<std::int64_t>(static_cast<std::uint64_t>(base_ns_) + static_cast<std::uint64_t>(ns));
  for (CpuSlice& slice : wide_) slice.start_ns += ns, slice.end_ns += ns;
}

void CpuSlices::sort() {
  const auto less = [this](const Packed& a, const Packed& b) {
    if (((a.what | b.what) & wide_bit) == 0) return a.place != b.place ? a.place < b.place : a.length > b.length;
    const CpuSlice x = unpacked(a), y = unpacked(b);
    return std::tuple(x.thread, x.start_ns, -x.end_ns) < std::tuple(y.thread, y.start_ns, -y.end_ns);
  };
  if (!std::is_sorted(packed_.begin(), packed_.end(), less)) std::stable_sort(packed_.begin(), packed_.end(), less);
}

void CpuSlices::clear() {
  packed_.clear();
  wide_.clear();
}

void CpuSlices::swap(CpuSlices& other) noexcept {
  packed_.swap(other.packed_);
  wide_.swap(other.wide_);
  std::swap(base_ns_, other.base_ns_);
}

void CpuSlices::pack(ByteWriter& out) const {
  out.array(packed_.span());
  out.array(wide_.span());
  out.value(base_ns_);
}

CpuSlices CpuSlices::unpack(ByteReader& in) {
  CpuSlices out;
  in.add_to(out.packed_);
  in.add_to(out.wide_);
  out.base_ns_ = in.value<std::int64_t>();
  return out;
}

}  // namespace ccl
