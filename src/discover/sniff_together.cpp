#include "discover/sniff_together.hpp"

namespace ccl {
namespace {

Bytes pack_paths(const std::vector<std::string>& paths) {
  ByteWriter out;
  out.value<std::uint64_t>(paths.size());
  for (const std::string& path : paths) out.text(path);
  return out.take();
}

std::vector<std::string> unpack_paths(const Bytes& bytes) {
  ByteReader in(bytes);
  std::vector<std::string> paths(in.value<std::uint64_t>());
  for (std::string& path : paths) path = in.text();
  return paths;
}

void pack(ByteWriter& out, const Sniffed& found) {
  out.value(found.format), out.value(found.other), out.value(found.gzip), out.value(found.readable);
  out.text(found.what), out.text(found.sentence), out.text(found.advice);
  out.value(found.world_size), out.value(found.rank);
}

Sniffed unpack_sniffed(ByteReader& in) {
  Sniffed found;
  found.format = in.value<TraceFormat>(), found.other = in.value<Other>();
  found.gzip = in.value<bool>(), found.readable = in.value<bool>();
  found.what = in.text(), found.sentence = in.text(), found.advice = in.text();
  found.world_size = in.value<std::int64_t>(), found.rank = in.value<std::int64_t>();
  return found;
}

}  // namespace

std::vector<Sniffed> sniff_together(const Comm& comm, const std::vector<std::string>& paths) {
  const auto workers = static_cast<std::size_t>(comm.num_workers());
  ByteWriter mine;
  {
    const std::vector<std::string> all = unpack_paths(comm.broadcast(comm.is_first() ? pack_paths(paths) : Bytes()));
    together(comm, [&] {
      for (auto i = static_cast<std::size_t>(comm.worker()); i < all.size(); i += workers) pack(mine, sniff(all[i]));
    });
  }
  std::vector<Bytes> out(workers);
  out.front() = mine.take();
  const std::vector<Bytes> parts = comm.exchange(std::move(out));
  std::vector<Sniffed> found;
  if (!comm.is_first()) return found;
  std::vector<ByteReader> readers(parts.begin(), parts.end());
  found.reserve(paths.size());
  for (std::size_t i = 0; i < paths.size(); ++i) found.push_back(unpack_sniffed(readers[i % workers]));
  return found;
}

}  // namespace ccl
