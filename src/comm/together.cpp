#include <new>

#include "comm/comm.hpp"
#include "core/problems.hpp"

namespace ccl {

void together(const Comm& comm, const std::function<void()>& step) {
  ExitCode code = ExitCode::done;
  std::string message;
  try {
    step();
  } catch (const FatalError& error) {
    code = error.exit_code();
    message = error.what();
  } catch (const std::bad_alloc&) {
    code = ExitCode::runtime_failure;
    message = "out of memory (worker " + std::to_string(comm.worker()) + "). Use more workers or more nodes.";
  }
  const std::int64_t me = code == ExitCode::done ? comm.num_workers() : comm.worker();
  const std::int64_t first = comm.min(me);
  if (first == comm.num_workers()) return;
  ByteWriter mine;
  if (first == comm.worker()) {
    mine.value(code);
    mine.text(message);
  }
  const std::vector<Bytes> all = comm.gather_all(mine.take());
  ByteReader in(all[static_cast<std::size_t>(first)]);
  const auto agreed_code = in.value<ExitCode>();
  throw FatalError(agreed_code, in.text());
}

}  // namespace ccl
