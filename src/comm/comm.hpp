// Processes talking: the only way workers exchange anything. Two bodies, chosen at link time: comm_mpi.cpp (the only
// file that includes mpi.h) and comm_serial.cpp (one worker, for unit tests). Results come by value; counts and the
// 2^31-byte limit of MPI are handled inside. Every call but send/receive is collective: all workers make it in the
// same order.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/bytes.hpp"

namespace ccl {

/// A process that nothing but a shell started needs no MPI_Init, which costs more than reading a small folder.
enum class MpiStart : std::uint8_t { needed, alone };

class Comm {
 public:
  /// Starts MPI (the serial body, and alone: nothing). One per process.
  Comm(int& argc, char**& argv, MpiStart start = MpiStart::needed);
  ~Comm();  // finalises
  Comm(const Comm&) = delete;
  Comm& operator=(const Comm&) = delete;

  int worker() const;       // 0 … num_workers()−1
  int num_workers() const;
  bool is_first() const { return worker() == 0; }

  void barrier() const;
  /// Worker 0's bytes on every worker.
  Bytes broadcast(Bytes bytes) const;
  /// out[i] goes to worker i; the result's [i] came from worker i. All-to-all, any sizes.
  std::vector<Bytes> exchange(std::vector<Bytes> out) const;
  /// Everyone's bytes on everyone, by worker. Cost: the sum of all on each worker.
  std::vector<Bytes> gather_all(Bytes mine) const;
  /// Point to point, blocking, any size.
  void send(int to, const Bytes& bytes) const;
  Bytes receive(int from) const;
  /// Leaves its processor to others until something comes. At once where send_to_asleep() sent it from the same node, else
  /// late by a 32nd of the wait, 0.1 to 3 ms (where rings are heard by half of it, 20 ms at most).
  Bytes receive_asleep(int from) const;
  /// send() to one that is in receive_asleep(), or will be.
  void send_to_asleep(int to, const Bytes& bytes) const;

  std::int64_t sum(std::int64_t value) const;
  /// Element by element; every worker gives as many.
  std::vector<std::int64_t> sum(std::vector<std::int64_t> values) const;
  std::int64_t min(std::int64_t value) const;
  std::int64_t max(std::int64_t value) const;
  /// Sum of the values of all workers before this one.
  std::int64_t exclusive_sum(std::int64_t value) const;

  /// Non-blocking towards worker 0: carries this worker's running totals there at most twice a second. On worker 0
  /// it also takes in what has arrived and returns the sums over all workers; elsewhere it returns its own totals.
  struct Totals {
    std::int64_t files = 0, bytes = 0;
    std::int32_t stop = 0;  // any worker was asked to stop
  };
  Totals report(const Totals& mine) const;

  /// Bytes of data this worker has handed to others so far; what goes to several counts for each.
  std::int64_t sent_bytes() const;

  /// Ends every worker at once (our bug; others may wait in a collective).
  [[noreturn]] void abort(int exit_code) const;
  /// The MPI_Comm for parallel HDF5, as an opaque pointer; null without MPI.
  const void* native_handle() const;
  /// Lets the processes that share this node's memory be counted (for memory and thread sizing).
  int workers_on_node() const;
  bool on_my_node(int worker) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Runs a step on every worker; if it throws on any, every worker throws the same FatalError (the one of the lowest
/// worker; std::bad_alloc becomes a runtime failure "out of memory"). Nothing inside the step may be collective after
/// a point where one worker can throw alone.
void together(const Comm& comm, const std::function<void()>& step);

/// All workers' arrays of plain rows, joined in worker order, on every worker.
template <class T>
std::vector<T> gather_all_rows(const Comm& comm, const std::vector<T>& mine) {
  static_assert(std::is_trivially_copyable_v<T>);
  const auto* at = reinterpret_cast<const std::byte*>(mine.data());
  std::vector<T> all;
  for (const Bytes& part : comm.gather_all(Bytes(at, at + mine.size() * sizeof(T)))) {
    const std::size_t before = all.size();
    all.resize(before + part.size() / sizeof(T));
    if (!part.empty()) std::memcpy(static_cast<void*>(all.data() + before), part.data(), part.size());
  }
  return all;
}

/// Sends out[i]'s rows to worker i; returns what came, in worker order. One worker keeps its rows where they are.
template <class T>
std::vector<T> exchange_rows(const Comm& comm, std::vector<std::vector<T>> out) {
  static_assert(std::is_trivially_copyable_v<T>);
  if (comm.num_workers() == 1 && out.size() == 1) return std::move(out.front());
  std::vector<Bytes> parcels(out.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto* at = reinterpret_cast<const std::byte*>(out[i].data());
    parcels[i].assign(at, at + out[i].size() * sizeof(T));
    out[i] = {};  // before the next is packed: each row is held once
  }
  std::vector<T> all;
  std::vector<Bytes> parts = comm.exchange(std::move(parcels));
  std::size_t bytes = 0;
  for (const Bytes& part : parts) bytes += part.size();
  all.reserve(bytes / sizeof(T));
  for (Bytes& part : parts) {
    const std::size_t before = all.size();
    all.resize(before + part.size() / sizeof(T));
    if (!part.empty()) std::memcpy(static_cast<void*>(all.data() + before), part.data(), part.size());
    part = {};
  }
  return all;
}

}  // namespace ccl
