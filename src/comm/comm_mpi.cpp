// The only file that includes mpi.h: MPI 3.1 calls, C interface.
#include <mpi.h>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <map>
#include <string>

#include "comm/bell.hpp"
#include "comm/comm.hpp"
#include "comm/message_limit.hpp"
#include "comm/one_node.hpp"
#include "core/problems.hpp"

namespace ccl {
namespace {

std::size_t message_limit = largest_message_bytes;

constexpr int data_tag = 1;
constexpr int size_tag = 2;
constexpr int report_tag = 3;
constexpr int peers_at_once = 64;  // bounds the requests in flight of exchange() with thousands of workers
constexpr std::chrono::milliseconds report_every{500};

void check(int result, const char* call) {
  if (result == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(result, text, &length);
  throw FatalError(ExitCode::runtime_failure, std::string(call) + " failed (" + text +
                                                  "). Check the network and the other workers' output.");
}

/// The one place where long messages are cut: f(start, int count) for every piece, in order; nothing for no bytes.
template <class F>
void for_each_piece(std::byte* data, std::size_t size, F f) {
  for (std::size_t from = 0; from < size; from += message_limit)
    f(data + from, static_cast<int>(std::min(message_limit, size - from)));
}

void wait_all(std::vector<MPI_Request>& requests) {
  check(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
  requests.clear();
}

/// PMIx ends with several small messages in a row to its server; unless they are sent at once, the second waits 40 ms
/// for the acknowledgement of the first. The option does nothing to what is no TCP socket.
void send_at_once() {
  constexpr int descriptors = 64;  // MPI opened its own at the start
  constexpr int yes = 1;
  for (int descriptor = 3; descriptor < descriptors; ++descriptor)
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

}  // namespace

void limit_messages_for_test(std::size_t bytes) { message_limit = bytes == 0 ? largest_message_bytes : bytes; }

struct Comm::State {
  bool started = false;  // MPI; else there is one worker, and nothing below may call MPI
  MPI_Comm all = MPI_COMM_NULL;
  MPI_Comm reports = MPI_COMM_NULL;  // of its own, so that progress never meets data
  int worker = 0, workers = 1;
  std::map<int, Bell::Name> on_node{{0, {}}};  // workers, and how each is rung
  Bell bell;
  mutable bool hears_rings = false;
  std::deque<Bytes> to_myself;
  mutable std::int64_t sent_bytes = 0;

  // report(): worker 0 keeps everyone's latest totals; the others one message under way.
  std::vector<Totals> latest;
  std::int64_t taken = 0, sent = 0;
  MPI_Request under_way = MPI_REQUEST_NULL;
  Totals buffer;
  std::chrono::steady_clock::time_point last_report{};

  std::int64_t reduce(std::int64_t value, MPI_Op op) const {
    if (!started) return value;
    std::int64_t result = 0;
    check(MPI_Allreduce(&value, &result, 1, MPI_INT64_T, op, all), "MPI_Allreduce");
    return result;
  }
  void broadcast_pieces(Bytes& bytes, int root) const {
    for_each_piece(bytes.data(), bytes.size(), [&](std::byte* at, int count) {
      check(MPI_Bcast(at, count, MPI_BYTE, root, all), "MPI_Bcast");
    });
  }
  void take_one_report(int source) {
    Totals totals;
    MPI_Status status;
    check(MPI_Recv(&totals, sizeof totals, MPI_BYTE, source, report_tag, reports, &status), "MPI_Recv");
    latest[static_cast<std::size_t>(status.MPI_SOURCE)] = totals;
    ++taken;
  }
  /// Who is on the node, by whom. Each rings another: who hears that will wait for rings.
  void meet_neighbours() {
    struct Neighbour {
      int worker;
      Bell::Name bell;
    };
    MPI_Comm node = MPI_COMM_NULL;
    check(MPI_Comm_split_type(all, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node), "MPI_Comm_split_type");
    int size = 0;
    check(MPI_Comm_size(node, &size), "MPI_Comm_size");
    std::vector<Neighbour> here(static_cast<std::size_t>(size));
    const Neighbour own{worker, bell.name()};
    check(MPI_Allgather(&own, sizeof own, MPI_BYTE, here.data(), sizeof own, MPI_BYTE, node), "MPI_Allgather");
    check(MPI_Comm_free(&node), "MPI_Comm_free");
    on_node.clear();
    for (const Neighbour& one : here) on_node[one.worker] = one.bell;
    const auto next = on_node.upper_bound(worker);
    if (on_node.size() > 1) bell.ring((next == on_node.end() ? on_node.begin() : next)->second);
  }
  void finish_reports() {
    std::int64_t all_sent = 0;
    check(MPI_Reduce(&sent, &all_sent, 1, MPI_INT64_T, MPI_SUM, 0, all), "MPI_Reduce");
    if (worker == 0)
      while (taken < all_sent) take_one_report(MPI_ANY_SOURCE);
    check(MPI_Wait(&under_way, MPI_STATUS_IGNORE), "MPI_Wait");
  }
};

Comm::Comm(int& argc, char**& argv, MpiStart start) : state_(std::make_unique<State>()) {
  state_->latest.resize(1);
  if (start == MpiStart::alone) return;
  state_->started = true;
  for (const auto& [name, value] : settings_of_one_node([](const char* variable) { return std::getenv(variable); }))
    setenv(name, value, 0);
  int provided = MPI_THREAD_SINGLE;
  check(MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
  send_at_once();
  check(MPI_Comm_dup(MPI_COMM_WORLD, &state_->all), "MPI_Comm_dup");
  check(MPI_Comm_set_errhandler(state_->all, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check(MPI_Comm_dup(state_->all, &state_->reports), "MPI_Comm_dup");  // inherits the error handler
  check(MPI_Comm_rank(state_->all, &state_->worker), "MPI_Comm_rank");
  check(MPI_Comm_size(state_->all, &state_->workers), "MPI_Comm_size");
  state_->latest.resize(static_cast<std::size_t>(state_->workers));
  state_->meet_neighbours();
}

Comm::~Comm() {
  if (!state_->started) return;
  try {
    state_->finish_reports();
    MPI_Comm_free(&state_->reports);
    MPI_Comm_free(&state_->all);
  } catch (const FatalError&) {
    // A destructor can not report; MPI_Finalize below tells the launcher.
  }
  MPI_Finalize();
}

int Comm::worker() const { return state_->worker; }
int Comm::num_workers() const { return state_->workers; }
int Comm::workers_on_node() const { return static_cast<int>(state_->on_node.size()); }
bool Comm::on_my_node(int worker) const {
  return state_->on_node.contains(worker);
}
const void* Comm::native_handle() const { return state_->started ? &state_->all : nullptr; }

void Comm::barrier() const {
  if (state_->started) check(MPI_Barrier(state_->all), "MPI_Barrier");
}

Bytes Comm::broadcast(Bytes bytes) const {
  if (!state_->started) return bytes;
  auto size = static_cast<std::int64_t>(bytes.size());
  check(MPI_Bcast(&size, 1, MPI_INT64_T, 0, state_->all), "MPI_Bcast");
  bytes.resize(static_cast<std::size_t>(size));
  if (is_first()) state_->sent_bytes += size * (state_->workers - 1);
  state_->broadcast_pieces(bytes, 0);
  return bytes;
}

std::vector<Bytes> Comm::exchange(std::vector<Bytes> out) const {
  const int workers = state_->workers;
  if (out.size() != static_cast<std::size_t>(workers)) throw std::logic_error("exchange needs one parcel per worker");
  if (!state_->started) return out;
  std::vector<std::int64_t> out_sizes(out.size()), in_sizes(out.size());
  for (std::size_t i = 0; i < out.size(); ++i) out_sizes[i] = static_cast<std::int64_t>(out[i].size());
  check(MPI_Alltoall(out_sizes.data(), 1, MPI_INT64_T, in_sizes.data(), 1, MPI_INT64_T, state_->all), "MPI_Alltoall");

  const auto me = static_cast<std::size_t>(state_->worker);
  for (std::size_t i = 0; i < out.size(); ++i)
    if (i != me) state_->sent_bytes += out_sizes[i];
  std::vector<Bytes> in(out.size());
  in[me] = std::move(out[me]);
  std::vector<MPI_Request> requests;
  for (int shift = 1; shift < workers; ++shift) {
    const int from = (state_->worker - shift + workers) % workers;
    const int to = (state_->worker + shift) % workers;
    Bytes& coming = in[static_cast<std::size_t>(from)];
    Bytes& going = out[static_cast<std::size_t>(to)];
    coming.resize(static_cast<std::size_t>(in_sizes[static_cast<std::size_t>(from)]));
    for_each_piece(coming.data(), coming.size(), [&](std::byte* at, int count) {
      check(MPI_Irecv(at, count, MPI_BYTE, from, data_tag, state_->all, &requests.emplace_back()), "MPI_Irecv");
    });
    for_each_piece(going.data(), going.size(), [&](std::byte* at, int count) {
      check(MPI_Isend(at, count, MPI_BYTE, to, data_tag, state_->all, &requests.emplace_back()), "MPI_Isend");
    });
    if (shift % peers_at_once == 0) wait_all(requests);
  }
  wait_all(requests);
  return in;
}

std::vector<Bytes> Comm::gather_all(Bytes mine) const {
  const auto workers = static_cast<std::size_t>(state_->workers);
  const auto size = static_cast<std::int64_t>(mine.size());
  std::vector<std::int64_t> sizes(workers);
  if (!state_->started) {
    std::vector<Bytes> all(1);
    all.front() = std::move(mine);
    return all;
  }
  check(MPI_Allgather(&size, 1, MPI_INT64_T, sizes.data(), 1, MPI_INT64_T, state_->all), "MPI_Allgather");
  std::vector<Bytes> all(workers);
  state_->sent_bytes += size * (state_->workers - 1);
  std::int64_t total = 0;
  for (const std::int64_t s : sizes) total += s;
  if (static_cast<std::size_t>(total) > message_limit) {
    all[static_cast<std::size_t>(state_->worker)] = std::move(mine);
    for (std::size_t w = 0; w < workers; ++w) {
      all[w].resize(static_cast<std::size_t>(sizes[w]));
      state_->broadcast_pieces(all[w], static_cast<int>(w));
    }
    return all;
  }
  std::vector<int> counts(workers), starts(workers);
  for (std::size_t w = 0; w < workers; ++w) {
    counts[w] = static_cast<int>(sizes[w]);
    if (w + 1 < workers) starts[w + 1] = starts[w] + counts[w];
  }
  Bytes joined(static_cast<std::size_t>(total));
  check(MPI_Allgatherv(mine.data(), static_cast<int>(size), MPI_BYTE, joined.data(), counts.data(), starts.data(),
                       MPI_BYTE, state_->all),
        "MPI_Allgatherv");
  for (std::size_t w = 0; w < workers; ++w)
    all[w].assign(joined.begin() + starts[w], joined.begin() + starts[w] + counts[w]);
  return all;
}

void Comm::send(int to, const Bytes& bytes) const {
  if (to == state_->worker) {
    state_->to_myself.push_back(bytes);
    return;
  }
  const auto size = static_cast<std::int64_t>(bytes.size());
  state_->sent_bytes += size;
  check(MPI_Send(&size, 1, MPI_INT64_T, to, size_tag, state_->all), "MPI_Send");
  // MPI_Send does not change the buffer; the cutting function is shared with the receiving side.
  for_each_piece(const_cast<std::byte*>(bytes.data()), bytes.size(), [&](const std::byte* at, int count) {
    check(MPI_Send(at, count, MPI_BYTE, to, data_tag, state_->all), "MPI_Send");
  });
}

Bytes Comm::receive(int from) const {
  Bytes bytes;
  if (from == state_->worker) {
    if (state_->to_myself.empty()) throw std::logic_error("receive from myself without a send");
    bytes = std::move(state_->to_myself.front());
    state_->to_myself.pop_front();
    return bytes;
  }
  std::int64_t size = 0;
  check(MPI_Recv(&size, 1, MPI_INT64_T, from, size_tag, state_->all, MPI_STATUS_IGNORE), "MPI_Recv");
  bytes.resize(static_cast<std::size_t>(size));
  for_each_piece(bytes.data(), bytes.size(), [&](std::byte* at, int count) {
    check(MPI_Recv(at, count, MPI_BYTE, from, data_tag, state_->all, MPI_STATUS_IGNORE), "MPI_Recv");
  });
  return bytes;
}

void Comm::send_to_asleep(int to, const Bytes& bytes) const {
  send(to, bytes);
  if (const auto there = state_->on_node.find(to); there != state_->on_node.end()) state_->bell.ring(there->second);
}

Bytes Comm::receive_asleep(int from) const {
  // Looking takes the processor for some 20 us: seldom in a long wait, as who has borrowed it needs it more than we.
  constexpr std::chrono::microseconds shortest{100};
  auto began = std::chrono::steady_clock::now();
  for (int waiting = from == state_->worker ? 1 : 0; waiting == 0;) {
    check(MPI_Iprobe(from, size_tag, state_->all, &waiting, MPI_STATUS_IGNORE), "MPI_Iprobe");
    if (waiting != 0) break;
    const auto now = std::chrono::steady_clock::now();
    const auto waited = std::chrono::duration_cast<std::chrono::microseconds>(now - began);
    const bool hears = state_->hears_rings;
    const std::chrono::microseconds longest{hears ? 20000 : 3000};
    if (!state_->bell.wait(std::clamp(waited / (hears ? 2 : 32), shortest, longest))) continue;
    state_->hears_rings = true;
    began = std::chrono::steady_clock::now();
  }
  return receive(from);
}

std::int64_t Comm::sum(std::int64_t value) const { return state_->reduce(value, MPI_SUM); }
std::vector<std::int64_t> Comm::sum(std::vector<std::int64_t> values) const {
  if (!state_->started) return values;
  if (state_->workers > 1) state_->sent_bytes += static_cast<std::int64_t>(values.size() * sizeof(std::int64_t));
  const std::size_t piece = std::max<std::size_t>(1, message_limit / sizeof(std::int64_t));
  for (std::size_t from = 0; from < values.size(); from += piece)
    check(MPI_Allreduce(MPI_IN_PLACE, values.data() + from, static_cast<int>(std::min(piece, values.size() - from)),
                        MPI_INT64_T, MPI_SUM, state_->all),
          "MPI_Allreduce");
  return values;
}
std::int64_t Comm::min(std::int64_t value) const { return state_->reduce(value, MPI_MIN); }
std::int64_t Comm::max(std::int64_t value) const { return state_->reduce(value, MPI_MAX); }

std::int64_t Comm::exclusive_sum(std::int64_t value) const {
  std::int64_t before = 0;
  if (!state_->started) return 0;
  check(MPI_Exscan(&value, &before, 1, MPI_INT64_T, MPI_SUM, state_->all), "MPI_Exscan");
  return is_first() ? 0 : before;  // MPI leaves worker 0's result undefined
}

Comm::Totals Comm::report(const Totals& mine) const {
  State& s = *state_;
  s.latest[static_cast<std::size_t>(s.worker)] = mine;
  if (s.worker != 0) {
    int sent_before = 0;
    check(MPI_Test(&s.under_way, &sent_before, MPI_STATUS_IGNORE), "MPI_Test");
    const auto now = std::chrono::steady_clock::now();
    if (sent_before != 0 && now - s.last_report >= report_every) {
      s.buffer = mine;
      check(MPI_Isend(&s.buffer, sizeof s.buffer, MPI_BYTE, 0, report_tag, s.reports, &s.under_way), "MPI_Isend");
      s.last_report = now;
      ++s.sent;
    }
    return mine;
  }
  while (s.started) {
    int waiting = 0;
    MPI_Status status;
    check(MPI_Iprobe(MPI_ANY_SOURCE, report_tag, s.reports, &waiting, &status), "MPI_Iprobe");
    if (waiting == 0) break;
    s.take_one_report(status.MPI_SOURCE);
  }
  Totals sums;
  for (const Totals& t : s.latest) {
    sums.files += t.files;
    sums.bytes += t.bytes;
    sums.stop = std::max(sums.stop, t.stop);
  }
  return sums;
}

std::int64_t Comm::sent_bytes() const { return state_->sent_bytes; }

void Comm::abort(int exit_code) const {
  if (!state_->started) std::_Exit(exit_code);
  MPI_Abort(MPI_COMM_WORLD, exit_code);
  std::abort();
}

}  // namespace ccl
