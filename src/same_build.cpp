#include "same_build.hpp"

#include <elf.h>
#include <fmt/format.h>
#include <link.h>

#include <cstring>
#include <map>
#include <span>

#include "core/bytes.hpp"
#include "core/problems.hpp"

namespace ccl {
namespace {

/// The build id among the notes of one segment; empty if it has none.
std::string build_id_in(std::span<const unsigned char> notes) {
  const auto padded = [](std::size_t size) { return (size + 3) & ~std::size_t{3}; };
  while (notes.size() >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) head;
    std::memcpy(&head, notes.data(), sizeof head);
    notes = notes.subspan(sizeof head);
    const std::size_t name = padded(head.n_namesz), whole = name + padded(head.n_descsz);
    if (whole > notes.size()) break;
    const bool gnu = head.n_namesz == 4 && std::memcmp(notes.data(), "GNU", 4) == 0;
    if (gnu && head.n_type == NT_GNU_BUILD_ID) {
      std::string text;
      for (const unsigned char byte : notes.subspan(name, head.n_descsz)) text += fmt::format("{:02x}", byte);
      return text;
    }
    notes = notes.subspan(whole);
  }
  return "";
}

int take_first_object(dl_phdr_info* object, std::size_t, void* text) {
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const auto& header = object->dlpi_phdr[i];
    if (header.p_type != PT_NOTE) continue;
    const auto* at = reinterpret_cast<const unsigned char*>(object->dlpi_addr + header.p_vaddr);
    std::string id = build_id_in({at, static_cast<std::size_t>(header.p_memsz)});
    if (id.empty()) continue;
    *static_cast<std::string*>(text) = std::move(id);
    break;
  }
  return 1;  // the first object is the program itself
}

std::int64_t fingerprint(const std::string& text) {
  std::uint64_t hash = 14695981039346656037u;  // FNV-1a
  for (const char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * 1099511628211u;
  return static_cast<std::int64_t>(hash >> 1);
}

}  // namespace

std::string this_build() {
  std::string id;
  dl_iterate_phdr(take_first_object, &id);
  return id.empty() ? CCL_VERSION : CCL_VERSION " (build " + id + ")";
}

void refuse_mixed_builds(const std::string& mine, const Comm& comm) {
  const std::int64_t print = fingerprint(mine);
  if (comm.min(print) == comm.max(print)) return;
  ByteWriter out;
  out.text(mine);
  const std::vector<Bytes> all = comm.gather_all(out.take());
  std::string named;
  std::map<std::string, int> seen;
  for (std::size_t worker = 0; worker < all.size(); ++worker) {
    const std::string build = ByteReader(all[worker]).text();
    if (seen[build]++ == 0) named += fmt::format("{}worker {} {}", named.empty() ? "" : ", ", worker, build);
  }
  throw FatalError(ExitCode::bad_request,
                   fmt::format("the workers are {} different builds of ccl-analyze: {} (first worker of each) "
                               "start the same program on every node",
                               seen.size(), named));
}

}  // namespace ccl
