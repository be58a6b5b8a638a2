#include "comm/lending.hpp"

#include <algorithm>
#include <utility>

#include "core/problems.hpp"

namespace ccl {
namespace {

bool lends = true;

// The owner's answer to who offers its processors.
Bytes not_usable() { return {}; }
Bytes done() { return Bytes(1); }

struct Roles {
  int owner = -1;
  std::vector<int> lenders;
};

/// The owner that this worker lends to or is, and who lends to it.
Roles roles_of(const std::vector<int>& busy, const Comm& comm) {
  std::vector<int> owners, idle;
  for (int worker = 0; worker < comm.num_workers(); ++worker) {
    if (!comm.on_my_node(worker)) continue;
    (std::binary_search(busy.begin(), busy.end(), worker) ? owners : idle).push_back(worker);
  }
  Roles roles;
  if (owners.empty()) return roles;
  const auto place = [](const std::vector<int>& list, int worker) {
    return static_cast<std::size_t>(std::find(list.begin(), list.end(), worker) - list.begin());
  };
  const std::size_t own = place(owners, comm.worker());
  const std::size_t with = own < owners.size() ? own : place(idle, comm.worker()) % owners.size();
  roles.owner = owners[with];
  for (std::size_t i = with; i < idle.size(); i += owners.size()) roles.lenders.push_back(idle[i]);
  return roles;
}

}  // namespace

void lend_processors_for_test(bool lend) { lends = lend; }

Lending::Lending(int owner, const std::vector<int>& lenders, const Comm& comm) : comm_(comm) {
  if (!lends) return;
  if (comm.worker() != owner) {
    if (std::find(lenders.begin(), lenders.end(), comm.worker()) == lenders.end()) return;
    comm.send(owner, own_processors());
    has_lent_ = comm.receive_asleep(owner) == done();
    return;
  }
  std::vector<int> without_thread;
  std::vector<Processors> sets{own_processors()};  // one for each thread: one without a processor of its own only takes memory
  for (const int lender : lenders) {
    sets.push_back(comm.receive(lender));
    if (!can_run_on(sets.back())) {
      comm.send_to_asleep(lender, not_usable());
      sets.pop_back();
    } else if (const std::size_t count = processors_count(sets); count == 0 || count >= sets.size()) {
      lenders_.push_back(lender);
    } else {
      without_thread.push_back(lender);
      sets.pop_back();
    }
  }
  processors_.assign(sets.begin() + 1, sets.end());
  lenders_.insert(lenders_.end(), without_thread.begin(), without_thread.end());
}

Lending::~Lending() {
  try {
    for (const int lender : lenders_) comm_.send_to_asleep(lender, done());
  } catch (const FatalError&) {
    // The connection is gone, and with it who sleeps.
  }
}

Lending lend_to_busy(const std::vector<int>& busy, const Comm& comm) {
  const Roles roles = roles_of(busy, comm);
  return Lending(roles.owner, roles.lenders, comm);
}

}  // namespace ccl
