#include "allocator.hpp"

#include <iterator>
#include <stdexcept>
#include <utility>

namespace synth {
namespace {

constexpr std::int64_t unit = 512, small_limit = 1 << 20, small_segment = 2 << 20, large_segment = 20 << 20;

std::int64_t up_to(std::int64_t value, std::int64_t step) { return (value + step - 1) / step * step; }

}  // namespace

const char* text_of(HistoryEntry::Action action) {
  switch (action) {
    case HistoryEntry::alloc: return "alloc";
    case HistoryEntry::free_requested: return "free_requested";
    case HistoryEntry::free_completed: return "free_completed";
    case HistoryEntry::segment_alloc: return "segment_alloc";
    case HistoryEntry::segment_free: return "segment_free";
    case HistoryEntry::oom: break;
  }
  return "oom";
}

void Allocator::note(HistoryEntry::Action action, std::int64_t address, std::int64_t size, std::int64_t time_us,
                     int site) {
  history_.push_back({action, address, size, time_us, site, active_, requested_, reserved_});
}

Segment& Allocator::segment_of(std::int64_t address) { return std::prev(segments_.upper_bound(address))->second; }

std::pair<Segment*, std::list<Block>::iterator> Allocator::best_fit(std::int64_t size, bool small) {
  Segment* best = nullptr;
  std::list<Block>::iterator found;
  for (auto& [address, segment] : segments_) {
    if (segment.small != small) continue;
    for (auto block = segment.blocks.begin(); block != segment.blocks.end(); ++block)
      if (block->state == Block::inactive && block->size >= size && (best == nullptr || block->size < found->size))
        best = &segment, found = block;
  }
  return {best, found};
}

std::int64_t Allocator::allocate(std::int64_t bytes, int site, std::int64_t time_us) {
  const std::int64_t size = up_to(bytes, unit);
  const bool small = size <= small_limit;
  auto [segment, block] = best_fit(size, small);
  if (segment == nullptr) {
    const std::int64_t whole = small                      ? small_segment
                               : size < large_segment / 2 ? large_segment
                                                          : up_to(size, small_segment);
    segment = &segments_[next_address_];
    *segment = {next_address_, whole, small, {}};
    segment->blocks.push_back({Block::inactive, next_address_, whole, 0, -1});
    block = segment->blocks.begin();
    reserved_ += whole;
    note(HistoryEntry::segment_alloc, next_address_, whole, time_us, site);
    next_address_ += up_to(whole, small_segment) + small_segment;
  }
  if (block->size > size)
    segment->blocks.insert(std::next(block), {Block::inactive, block->address + size, block->size - size, 0, -1});
  *block = {Block::active, block->address, size, bytes, site};
  active_ += size;
  requested_ += bytes;
  note(HistoryEntry::alloc, block->address, bytes, time_us, site);
  return block->address;
}

void Allocator::free(std::int64_t address, std::int64_t time_us, int site, bool deferred) {
  for (Block& block : segment_of(address).blocks) {
    if (block.address != address) continue;
    block.state = Block::awaiting_free;
    note(HistoryEntry::free_requested, address, block.requested, time_us, site);
    if (!deferred) complete_free(address, time_us, site);
    return;
  }
  throw std::logic_error("a block is freed that is not there");
}

void Allocator::complete_free(std::int64_t address, std::int64_t time_us, int site) {
  std::list<Block>& blocks = segment_of(address).blocks;
  for (auto block = blocks.begin(); block != blocks.end(); ++block) {
    if (block->address != address) continue;
    active_ -= block->size;
    requested_ -= block->requested;
    note(HistoryEntry::free_completed, address, block->requested, time_us, site);
    *block = {Block::inactive, address, block->size, 0, -1};
    if (const auto next = std::next(block); next != blocks.end() && next->state == Block::inactive)
      block->size += next->size, blocks.erase(next);
    if (block != blocks.begin() && std::prev(block)->state == Block::inactive)
      std::prev(block)->size += block->size, blocks.erase(block);
    return;
  }
}

void Allocator::empty_cache(std::int64_t time_us) {
  for (auto at = segments_.begin(); at != segments_.end();) {
    const Segment& segment = at->second;
    if (segment.blocks.size() > 1 || segment.blocks.front().state != Block::inactive) {
      ++at;
      continue;
    }
    reserved_ -= segment.size;
    note(HistoryEntry::segment_free, segment.address, segment.size, time_us, -1);
    at = segments_.erase(at);
  }
}

void Allocator::fail(std::int64_t bytes, std::int64_t device_free, std::int64_t time_us) {
  note(HistoryEntry::oom, device_free, bytes, time_us, -1);
}

}  // namespace synth
