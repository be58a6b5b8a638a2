#include "shared_file.hpp"

#include <algorithm>
#include <utility>

namespace ccl {
namespace {

/// Who may lend for the file: those on the owner's node that read a part of it.
std::vector<int> lenders_of(const TraceFile& file, const FilePart& part, const Comm& comm) {
  std::vector<int> lenders;
  if (part.count < 2 || file.format != TraceFormat::kineto || !comm.on_my_node(file.owner)) return lenders;
  for (const int reader : file.readers)
    if (reader != file.owner && comm.on_my_node(reader)) lenders.push_back(reader);
  return lenders;
}

}  // namespace

SharedFile::SharedFile(const TraceFile& file, FilePart part, const Comm& comm)
    : file_(file),
      part_(part),
      comm_(comm),
      to_agree_(part.count > 1 && file.format == TraceFormat::nsys_sqlite),
      lending_(file.owner, lenders_of(file, part, comm), comm) {
  for (const int lender : lending_.lenders())
    lent_.parts.push_back(static_cast<int>(std::find(file.readers.begin(), file.readers.end(), lender) - file.readers.begin()));
  lent_.processors.assign(lending_.processors().begin(), lending_.processors().end());
}

bool SharedFile::any(bool mine) {
  if (!std::exchange(to_agree_, false)) return mine;
  const auto word = [](bool yes) { return Bytes(1, std::byte{yes}); };
  if (part_.number > 0) {
    comm_.send_to_asleep(file_.owner, word(mine));
    return comm_.receive_asleep(file_.owner) == word(true);
  }
  for (int number = 1; number < part_.count; ++number) mine |= comm_.receive_asleep(reader(number)) == word(true);
  for (int number = 1; number < part_.count; ++number) comm_.send_to_asleep(reader(number), word(mine));
  return mine;
}

SharedFile::~SharedFile() {
  try {
    any(false);
  } catch (const FatalError&) {
    // The connection is gone, and with it who sleeps.
  }
}

}  // namespace ccl
