#include "parse/event_order.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <tuple>
#include <vector>

#include "core/shares.hpp"

namespace ccl {
namespace {

/// One number for each row, written by the threads that use it: they share what a first touch of its memory costs.
class Numbers {
 public:
  Numbers() = default;
  explicit Numbers(std::size_t count) : numbers_(std::make_unique_for_overwrite<std::uint32_t[]>(count)), count_(count) {}
  std::uint32_t& operator[](std::size_t i) { return numbers_[i]; }
  std::uint32_t operator[](std::size_t i) const { return numbers_[i]; }
  std::uint32_t* begin() { return numbers_.get(); }
  std::uint32_t* end() { return numbers_.get() + count_; }
  bool empty() const { return count_ == 0; }

 private:
  std::unique_ptr<std::uint32_t[]> numbers_;
  std::size_t count_ = 0;
};
using Order = Numbers;

/// The cells of a row, which has no step yet.
auto row_of(EventTable& events, std::size_t i) {
  return std::tie(events.start_ns[i], events.dur_ns[i], events.name[i], events.lane[i], events.kind[i],
                  events.correlation[i], events.launch_ns[i], events.launch_thread[i]);
}

template <class... Cells>
std::tuple<Cells...> copy_of(const std::tuple<Cells&...>& row) {
  return row;
}

// Profilers write GPU events nearly in order: most are a few places off. Rows from `next` on are inserted among those of the
// share in front of them, which are in order; until_in_order: so are those behind it. Gives up where there is much to move.
template <class Less>
bool insert_rows(Order& order, Share share, std::size_t next, bool until_in_order, Less less) {
  std::size_t moves_left = 16 * (share.end - share.begin);
  for (; next < share.end; ++next) {
    const std::uint32_t row = order[next];
    if (until_in_order && !less(row, order[next - 1])) break;
    std::size_t at = next;
    for (; at > share.begin && less(row, order[at - 1]) && moves_left > 0; --at, --moves_left) order[at] = order[at - 1];
    order[at] = row;
    if (moves_left == 0) return false;
  }
  return true;
}

/// Each share for itself, then across their borders.
template <class Less>
bool insertion_sort(Order& order, const std::vector<Share>& shares, std::span<const Processors> lent, Less less) {
  std::vector<std::uint8_t> sorted(shares.size());
  for_each_share(shares, lent, [&](std::size_t i) {
    sorted[i] = shares[i].begin == shares[i].end || insert_rows(order, shares[i], shares[i].begin + 1, false, less) ? 1 : 0;
  });
  bool all = std::find(sorted.begin(), sorted.end(), 0) == sorted.end();
  for (std::size_t i = 1; i < shares.size() && all; ++i)
    if (shares[i].begin > 0) all = insert_rows(order, {0, shares[i].end}, shares[i].begin, true, less);
  return all;
}

/// Moves the borders back until no row of a share comes from another one.
void close_shares(std::vector<Share>& shares, const Order& order, const std::vector<std::uint32_t>& last_rows) {
  std::uint32_t last = 0;  // of all the shares before
  for (std::size_t i = 1; i < shares.size(); ++i) {
    last = std::max(last, last_rows[i - 1]);
    std::size_t border = std::max(shares[i].begin, shares[i - 1].begin);
    for (; border > 0 && border <= last; ++border) last = std::max(last, order[border]);
    shares[i - 1].end = shares[i].begin = border;
    shares[i].end = std::max(shares[i].end, border);
  }
}

// Row i of the sorted table = row order[i] of the old one, cycle by cycle in place: no second copy of any column.
// order is used up.
void permute(EventTable& events, Order& order, Share share) {
  for (std::size_t first = share.begin; first < share.end; ++first) {
    if (order[first] == first) continue;
    const auto spare = copy_of(row_of(events, first));
    std::size_t at = first;
    while (order[at] != first) {
      const std::size_t from = order[at];
      row_of(events, at) = row_of(events, from);
      order[at] = static_cast<std::uint32_t>(at);
      at = from;
    }
    row_of(events, at) = spare;
    order[at] = static_cast<std::uint32_t>(at);
  }
}

template <class Rows>
void renumber(Rows& rows, const Numbers& new_row) {
  const auto less = [](const auto& a, const auto& b) { return a.event < b.event; };
  if (!new_row.empty())
    for (auto& row : rows) row.event = new_row[row.event];
  if (!std::is_sorted(rows.begin(), rows.end(), less)) std::sort(rows.begin(), rows.end(), less);
}

/// Puts the table in order; the new number of each row.
Numbers apply(EventTable& events, Order order, std::vector<Share> shares, std::span<const Processors> lent) {
  Numbers new_row(events.size());
  std::vector<std::uint32_t> last_rows(shares.size());
  for_each_share(shares, lent, [&](std::size_t share) {
    std::uint32_t last_row = 0;  // in the list once: what threads write side by side goes to and fro between them
    for (std::size_t i = shares[share].begin; i < shares[share].end; ++i) {
      new_row[order[i]] = static_cast<std::uint32_t>(i);
      last_row = std::max(last_row, order[i]);
    }
    last_rows[share] = last_row;
  });
  close_shares(shares, order, last_rows);
  for_each_share(shares, lent, [&](std::size_t i) { permute(events, order, shares[i]); });
  return new_row;
}

}  // namespace

void sort_events(RankTrace& trace, std::span<const Processors> lent) {
  EventTable& events = trace.events;
  const auto key = [&](std::size_t i) { return std::tuple(events.start_ns[i], events.lane[i], events.correlation[i], i); };
  const auto less = [&](std::uint32_t a, std::uint32_t b) {
    return events.start_ns[a] != events.start_ns[b] ? events.start_ns[a] < events.start_ns[b] : key(a) < key(b);
  };
  bool sorted = true;
  for (std::size_t i = 1; i < events.size() && sorted; ++i)
    sorted = events.start_ns[i - 1] < events.start_ns[i] || key(i - 1) < key(i);
  Numbers new_row;
  if (!sorted) {
    const std::vector<Share> shares = shares_of(events.size(), lent);
    Order order(events.size());
    for_each_share(shares, lent, [&](std::size_t i) {
      std::iota(order.begin() + shares[i].begin, order.begin() + shares[i].end, static_cast<std::uint32_t>(shares[i].begin));
    });
    if (!insertion_sort(order, shares, lent, less)) std::sort(order.begin(), order.end(), less);
    new_row = apply(events, std::move(order), shares, lent);
  }
  side_by_side(lent, {[&] { renumber(trace.collectives, new_row); },
                      [&] {
                        renumber(trace.memory_operations, new_row);
                        renumber(trace.kernel_shapes, new_row);
                      }});
}

}  // namespace ccl
