// One worker, no MPI: for unit tests and for tools that never run in parallel.
#include <cstdlib>
#include <deque>

#include "comm/comm.hpp"
#include "comm/message_limit.hpp"

namespace ccl {

void limit_messages_for_test(std::size_t) {}

struct Comm::State {
  std::deque<Bytes> to_myself;
};

Comm::Comm(int&, char**&, MpiStart) : state_(std::make_unique<State>()) {}
Comm::~Comm() = default;

int Comm::worker() const { return 0; }
int Comm::num_workers() const { return 1; }
int Comm::workers_on_node() const { return 1; }
bool Comm::on_my_node(int) const { return true; }
const void* Comm::native_handle() const { return nullptr; }

void Comm::barrier() const {}
Bytes Comm::broadcast(Bytes bytes) const { return bytes; }

std::vector<Bytes> Comm::exchange(std::vector<Bytes> out) const {
  if (out.size() != 1) throw std::logic_error("exchange needs one parcel per worker");
  return out;
}

std::vector<Bytes> Comm::gather_all(Bytes mine) const {
  std::vector<Bytes> all;
  all.push_back(std::move(mine));
  return all;
}

void Comm::send(int, const Bytes& bytes) const { state_->to_myself.push_back(bytes); }

Bytes Comm::receive(int) const {
  if (state_->to_myself.empty()) throw std::logic_error("receive from myself without a send");
  Bytes bytes = std::move(state_->to_myself.front());
  state_->to_myself.pop_front();
  return bytes;
}

Bytes Comm::receive_asleep(int from) const { return receive(from); }
void Comm::send_to_asleep(int to, const Bytes& bytes) const { send(to, bytes); }

std::int64_t Comm::sum(std::int64_t value) const { return value; }
std::vector<std::int64_t> Comm::sum(std::vector<std::int64_t> values) const { return values; }
std::int64_t Comm::min(std::int64_t value) const { return value; }
std::int64_t Comm::max(std::int64_t value) const { return value; }
std::int64_t Comm::exclusive_sum(std::int64_t) const { return 0; }
Comm::Totals Comm::report(const Totals& mine) const { return mine; }
std::int64_t Comm::sent_bytes() const { return 0; }
void Comm::abort(int exit_code) const { std::_Exit(exit_code); }

}  // namespace ccl
