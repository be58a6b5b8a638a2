// Decompresses gzip text of any number of members, in pieces of any size. Two bodies: ISA-L (three times faster,
// optional at configure time) and zlib.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>

namespace ccl {

enum class InflateBackend : std::uint8_t { best, zlib, isal };

enum class InflateStatus : std::uint8_t {
  more,        // wants input or room
  member_end,  // one member is complete and its checksum right; the next may follow
  damaged      // not gzip from here on, or a wrong checksum
};

struct InflateStep {
  InflateStatus status = InflateStatus::more;
  std::size_t consumed = 0, produced = 0;
};

class Inflater {
 public:
  virtual ~Inflater() = default;
  /// Ready for the first byte of a member.
  virtual void restart() = 0;
  virtual InflateStep step(const char* in, std::size_t in_size, char* out, std::size_t out_size) = 0;
};

/// Null if this build lacks the backend; best and zlib never are.
std::unique_ptr<Inflater> make_inflater(InflateBackend backend);

std::unique_ptr<Inflater> make_zlib_inflater();
std::unique_ptr<Inflater> make_isal_inflater();

}  // namespace ccl
