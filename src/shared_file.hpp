// One file between the workers that read it. Of a Kineto trace those on the owner's node lend it their processors and
// sleep: threads of the owner read their parts, and share what follows the reading. The others read their parts and
// send them. Of an SQLite export they agree on whether it is damaged.
#pragma once
#include "comm/comm.hpp"
#include "comm/lending.hpp"
#include "parse/trace_reader.hpp"

namespace ccl {

class SharedFile final : public PartExchange {
 public:
  /// Who lends comes back when the owner has done with the file.
  SharedFile(const TraceFile& file, FilePart part, const Comm& comm);
  SharedFile(const SharedFile&) = delete;
  SharedFile& operator=(const SharedFile&) = delete;
  ~SharedFile() override;

  /// Nothing is left to do here with this part.
  bool has_lent() const { return lending_.has_lent(); }
  /// What the owner was lent.
  const Lent& lent() const { return lent_; }

  void give(Bytes parcel) override { comm_.send(file_.owner, parcel); }
  Bytes take(int number) override { return comm_.receive(reader(number)); }
  /// Who does not ask has said no when this object goes: nobody waits for a file that was not read.
  bool any(bool mine) override;

 private:
  int reader(int number) const { return file_.readers[static_cast<std::size_t>(number)]; }
  const TraceFile& file_;
  const FilePart part_;
  const Comm& comm_;
  bool to_agree_ = false;
  Lending lending_;
  Lent lent_;
};

}  // namespace ccl
