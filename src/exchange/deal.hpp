// Rows into one global order over the workers: after deal(), worker 0 holds the smallest keys, the last worker the
// largest, each sorted. A sample sort: splitters from a regular sample of every worker, one all-to-all.
#pragma once
#include <algorithm>
#include <span>
#include <vector>

#include "comm/comm.hpp"
#include "core/bytes.hpp"
#include "core/sort_runs.hpp"

namespace ccl {

/// rows: plain; less: a strict total order (equal keys may end on either side of a border). Returns this worker's slice.
template <class T, class Less>
std::vector<T> deal(std::vector<T> rows, const Comm& comm, Less less) {
  sort_rows(rows, less);
  const auto workers = static_cast<std::size_t>(comm.num_workers());
  if (workers == 1) return rows;
  constexpr std::size_t samples_per_worker = 64;
  std::vector<T> sample;
  for (std::size_t i = 0; i < samples_per_worker && !rows.empty(); ++i)
    sample.push_back(rows[i * rows.size() / samples_per_worker]);
  // One worker sees all samples: were they sent to all, they would cost workers² rows.
  std::vector<std::vector<T>> to_first(workers);
  to_first[0] = std::move(sample);
  sample = exchange_rows(comm, std::move(to_first));
  std::sort(sample.begin(), sample.end(), less);
  std::vector<T> splitters;
  for (std::size_t w = 1; w < workers && !sample.empty(); ++w) splitters.push_back(sample[w * sample.size() / workers]);
  ByteWriter told;
  told.array(splitters);
  splitters = ByteReader(comm.broadcast(told.take())).array<T>();
  const auto me = static_cast<std::size_t>(comm.worker());
  std::vector<std::span<const T>> slices;
  std::vector<Bytes> out;
  auto from = rows.begin();
  for (std::size_t w = 0; w < workers; ++w) {
    const bool last = w + 1 == workers || splitters.empty();
    const auto to = last ? rows.end() : std::lower_bound(from, rows.end(), splitters[w], less);
    slices.emplace_back(from, to);
    const auto bytes = std::as_bytes(slices.back());
    out.emplace_back(bytes.begin(), w == me ? bytes.begin() : bytes.end());
    from = to;
  }
  const std::vector<Bytes> came = comm.exchange(std::move(out));
  std::vector<T> mine;
  std::size_t count = slices[me].size();
  for (const Bytes& part : came) count += part.size() / sizeof(T);
  mine.reserve(count);
  for (std::size_t w = 0; w < workers; ++w) {
    const std::span slice = w == me ? slices[me] : std::span(reinterpret_cast<const T*>(came[w].data()), came[w].size() / sizeof(T));
    mine.insert(mine.end(), slice.begin(), slice.end());
  }
  rows = {};
  sort_runs(mine, less);
  return mine;
}

}  // namespace ccl
