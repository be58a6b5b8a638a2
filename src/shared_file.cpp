#include "shared_file.hpp"

#include <utility>

namespace ccl {
namespace {

bool lends = true;

// The owner's answer to who offers its processors.
Bytes not_usable() { return {}; }
Bytes done() { return Bytes(1); }

}  // namespace

void lend_processors_for_test(bool lend) { lends = lend; }

SharedFile::SharedFile(const TraceFile& file, FilePart part, const Comm& comm) : file_(file), part_(part), comm_(comm) {
  to_agree_ = part.count > 1 && file.format == TraceFormat::nsys_sqlite;
  if (!lends || part.count < 2 || file.format != TraceFormat::kineto) return;
  if (part.number > 0) {
    if (!comm.on_my_node(file.owner)) return;
    comm.send(file.owner, own_processors());
    has_lent_ = comm.receive_asleep(file.owner) == done();
    return;
  }
  std::vector<int> without_thread;
  std::vector<Processors> sets{own_processors()};  // one for each thread: one without a processor of its own only takes memory
  for (int number = 1; number < part.count; ++number) {
    if (!comm.on_my_node(reader(number))) continue;
    sets.push_back(comm.receive(reader(number)));
    if (!can_run_on(sets.back())) {
      comm.send(reader(number), not_usable());
      sets.pop_back();
    } else if (const std::size_t count = processors_count(sets); count == 0 || count >= sets.size()) {
      lent_.parts.push_back(number);
    } else {
      without_thread.push_back(number);
      sets.pop_back();
    }
  }
  lent_.processors.assign(sets.begin() + 1, sets.end());
  lent_.parts.insert(lent_.parts.end(), without_thread.begin(), without_thread.end());
}

bool SharedFile::any(bool mine) {
  if (!std::exchange(to_agree_, false)) return mine;
  const auto word = [](bool yes) { return Bytes(1, std::byte{yes}); };
  if (part_.number > 0) {
    comm_.send(file_.owner, word(mine));
    return comm_.receive_asleep(file_.owner) == word(true);
  }
  for (int number = 1; number < part_.count; ++number) mine |= comm_.receive_asleep(reader(number)) == word(true);
  for (int number = 1; number < part_.count; ++number) comm_.send(reader(number), word(mine));
  return mine;
}

SharedFile::~SharedFile() {
  try {
    any(false);
    for (const int number : lent_.parts) comm_.send(reader(number), done());
  } catch (const FatalError&) {
    // The connection is gone, and with it who sleeps.
  }
}

}  // namespace ccl
