#include "shared_file.hpp"

namespace ccl {
namespace {

bool lends = true;

// The owner's answer to who offers its processors.
Bytes not_usable() { return {}; }
Bytes done() { return Bytes(1); }

}  // namespace

void lend_processors_for_test(bool lend) { lends = lend; }

SharedFile::SharedFile(const TraceFile& file, FilePart part, const Comm& comm) : file_(file), comm_(comm) {
  if (!lends || part.count < 2 || file.format != TraceFormat::kineto) return;
  if (part.number > 0) {
    if (!comm.on_my_node(file.owner)) return;
    comm.send(file.owner, own_processors());
    has_lent_ = comm.receive_asleep(file.owner) == done();
    return;
  }
  for (int number = 1; number < part.count; ++number) {
    if (!comm.on_my_node(reader(number))) continue;
    Processors processors = comm.receive(reader(number));
    if (can_run_on(processors)) {
      lent_.parts.push_back(number);
      lent_.processors.push_back(std::move(processors));
    } else {
      comm.send(reader(number), not_usable());
    }
  }
}

SharedFile::~SharedFile() {
  try {
    for (const int number : lent_.parts) comm_.send(reader(number), done());
  } catch (const FatalError&) {
    // The connection is gone, and with it who sleeps.
  }
}

}  // namespace ccl
