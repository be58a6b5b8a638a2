#include "exchange/merge.hpp"

namespace ccl {
namespace {

Bytes pack(const std::vector<std::unique_ptr<Metric>>& metrics, const StringTable& strings, const Problems& problems) {
  ByteWriter out;
  for (const auto& metric : metrics) out.array(metric->pack());
  out.value<std::uint64_t>(strings.size());
  for (std::uint32_t i = 0; i < strings.size(); ++i) out.text(strings.text(i));
  out.array(problems.pack());
  return out.take();
}

void absorb(const Bytes& bytes, std::vector<std::unique_ptr<Metric>>& metrics, StringTable& strings,
            Problems& problems) {
  ByteReader in(bytes);
  for (auto& metric : metrics) metric->absorb(in.array<std::byte>());
  StringTable theirs;
  const auto texts = in.value<std::uint64_t>();
  for (std::uint64_t i = 0; i < texts; ++i) theirs.intern(in.text());
  strings.unite(theirs);
  problems.unite(Problems::unpack(in.array<std::byte>()));
}

}  // namespace

std::int64_t merge(std::vector<std::unique_ptr<Metric>>& metrics, StringTable& strings, Problems& problems,
                   const Comm& comm) {
  const int me = comm.worker(), workers = comm.num_workers();
  const std::int64_t sent_before = comm.sent_bytes();
  for (const auto& metric : metrics) metric->deal(comm);
  for (int distance = 1; distance < workers; distance *= 2) {
    if (me % (2 * distance) == distance) {
      comm.send(me - distance, pack(metrics, strings, problems));
      break;
    }
    if (me + distance < workers) absorb(comm.receive(me + distance), metrics, strings, problems);
  }
  return comm.sent_bytes() - sent_before;
}

}  // namespace ccl
