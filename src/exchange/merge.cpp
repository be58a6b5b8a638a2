#include "exchange/merge.hpp"

#include <algorithm>
#include <numeric>

namespace ccl {
namespace {

void pack(const StringTable& strings, ByteWriter& out) {
  out.value<std::uint64_t>(strings.size());
  for (std::uint32_t i = 0; i < strings.size(); ++i) out.text(strings.text(i));
}

void unite(ByteReader& in, StringTable& strings) {
  StringTable theirs;
  const auto texts = in.value<std::uint64_t>();
  for (std::uint64_t i = 0; i < texts; ++i) theirs.intern(in.text());
  strings.unite(theirs);
}

/// In the tree of a root, in the round of this distance: whether a worker hands over what it has to the one `distance`
/// before it. Workers are counted from the root on.
bool hands_over(int worker, int root, int distance, int workers) {
  return (worker - root + workers) % workers % (2 * distance) == distance;
}
/// Whether the worker takes from the one `distance` behind it.
bool takes(int worker, int root, int distance, int workers) {
  const int place = (worker - root + workers) % workers;
  return place % (2 * distance) == 0 && place + distance < workers;
}

// Of the rows of all workers that go to one owner: what travels lies twice in memory while it does.
constexpr std::int64_t batch_bytes = 32 << 20;
constexpr std::int64_t most_counts_bytes = 128;  // beside the rows of one metric: 8 a list

/// Of this worker's rows.
std::vector<std::int64_t> bytes_by_metric(const std::vector<std::unique_ptr<Metric>>& metrics) {
  std::vector<std::int64_t> bytes;
  for (const auto& metric : metrics) bytes.push_back(metric->rows_bytes());
  return bytes;
}

/// Numbers of what has most bytes first.
std::vector<std::size_t> largest_first(const std::vector<std::int64_t>& bytes) {
  std::vector<std::size_t> order(bytes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t i) { return bytes[i]; });
  return order;
}

/// Metrics whose rows travel together. A batch has as much for each owner as for the others, so that all pack, and then
/// all take in, at the same time. The same on all workers. Collective.
std::vector<std::vector<std::size_t>> batches_of(const std::vector<std::unique_ptr<Metric>>& metrics,
                                                 const std::vector<int>& owners, const Comm& comm) {
  const std::vector<std::int64_t> bytes = comm.sum(bytes_by_metric(metrics));
  std::vector<std::int64_t> begun(static_cast<std::size_t>(comm.num_workers()));  // bytes in batches so far, by owner
  std::vector<std::vector<std::size_t>> batches;
  for (const std::size_t i : largest_first(bytes)) {
    std::int64_t& before = begun[static_cast<std::size_t>(owners[i])];
    const auto batch = static_cast<std::size_t>(before / batch_bytes);
    if (batches.size() <= batch) batches.resize(batch + 1);
    batches[batch].push_back(i);
    before += bytes[i];
  }
  return batches;
}

}  // namespace

std::vector<int> share_reports(const std::vector<std::unique_ptr<Metric>>& metrics, const Comm& comm) {
  std::vector<std::int64_t> bytes = bytes_by_metric(metrics);
  bytes.push_back(comm.is_first() ? 0 : std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0}));
  bytes = comm.sum(std::move(bytes));
  // As of one file that several read: to move its rows takes longer than to report on them.
  if (const std::int64_t elsewhere = bytes.back(); elsewhere == 0) return std::vector<int>(metrics.size(), 0);
  bytes.pop_back();
  for (std::size_t i = 0; i < metrics.size(); ++i) bytes[i] *= metrics[i]->info().report_weight;
  std::vector<std::int64_t> load(static_cast<std::size_t>(comm.num_workers()));
  std::vector<int> owners(metrics.size());
  for (const std::size_t i : largest_first(bytes)) {
    const auto least = std::min_element(load.begin(), load.end());
    owners[i] = static_cast<int>(least - load.begin());
    *least += bytes[i];
  }
  return owners;
}

std::int64_t merge(std::vector<std::unique_ptr<Metric>>& metrics, const std::vector<int>& owners, StringTable& strings,
                   Problems& problems, const Comm& comm) {
  const int me = comm.worker(), workers = comm.num_workers();
  const std::int64_t sent_before = comm.sent_bytes();
  for (const auto& metric : metrics) metric->deal(comm);
  std::vector<std::vector<std::size_t>> batches;
  if (workers > 1) batches = batches_of(metrics, owners, comm);
  for (int distance = 1; distance < workers; distance *= 2) {
    // What a worker packs for the one before it goes there; returns what came from the one behind.
    const auto pass_on = [&](ByteWriter& out) {
      std::vector<Bytes> parcels(static_cast<std::size_t>(workers));
      parcels[static_cast<std::size_t>((me - distance + workers) % workers)] = out.take();
      return std::move(comm.exchange(std::move(parcels))[static_cast<std::size_t>((me + distance) % workers)]);
    };
    for (const std::vector<std::size_t>& batch : batches) {
      ByteWriter out;
      std::int64_t bytes = 0;
      for (const std::size_t i : batch)
        if (hands_over(me, owners[i], distance, workers)) bytes += metrics[i]->rows_bytes() + most_counts_bytes;
      out.reserve(static_cast<std::size_t>(bytes));
      for (const std::size_t i : batch)
        if (hands_over(me, owners[i], distance, workers)) metrics[i]->pack(out);
      const Bytes came = pass_on(out);
      ByteReader in(came);
      for (const std::size_t i : batch)
        if (takes(me, owners[i], distance, workers)) metrics[i]->absorb(in);
    }
    ByteWriter out;
    if (hands_over(me, 0, distance, workers)) {
      pack(strings, out);
      out.array(problems.pack());
    }
    const Bytes came = pass_on(out);
    if (!takes(me, 0, distance, workers)) continue;
    ByteReader in(came);
    unite(in, strings);
    problems.unite(Problems::unpack(in.array<std::byte>()));
  }
  if (std::ranges::any_of(owners, [](int owner) { return owner != 0; })) {
    ByteWriter out;
    if (comm.is_first()) pack(strings, out);
    const Bytes all = comm.broadcast(out.take());
    ByteReader in(all);
    if (!comm.is_first()) unite(in, strings);
  }
  return comm.sent_bytes() - sent_before;
}

}  // namespace ccl
