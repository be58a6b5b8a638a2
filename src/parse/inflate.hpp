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
  member_end,  // one member is complete; the next may follow
  damaged      // not gzip from here on, or a wrong checksum that the inflater looks at itself
};

/// What the end of a member states of its text: CRC-32 and length modulo 2^32 (RFC 1952, 2.3.1).
struct MemberText {
  std::uint32_t crc = 0, bytes = 0;
};

struct InflateStep {
  InflateStatus status = InflateStatus::more;
  std::size_t consumed = 0, produced = 0;
  MemberText stated;  // at a member's end, if the check is left to the caller
};

class Inflater {
 public:
  virtual ~Inflater() = default;
  /// Ready for the first byte of a member.
  virtual void restart() = 0;
  /// Whether it is for the caller to check the text by what its member states (TextCheck).
  virtual bool leaves_check() const { return false; }
  virtual InflateStep step(const char* in, std::size_t in_size, char* out, std::size_t out_size) = 0;
};

/// Null if this build lacks the backend; best and zlib never are.
std::unique_ptr<Inflater> make_inflater(InflateBackend backend);

/// Of a piece of text, what the end of a member of just this piece would state. Apart from inflating, so that another
/// thread can work it out.
MemberText text_of_member(const char* text, std::size_t size);

/// The text of one member after another, a piece behind the other, beside what their ends state.
class TextCheck {
 public:
  void add(const MemberText& piece);
  /// Whether what was added since the last member is the text that it states; the next member begins.
  bool ends_as(const MemberText& stated);

 private:
  MemberText text_;
};

std::unique_ptr<Inflater> make_zlib_inflater();
std::unique_ptr<Inflater> make_isal_inflater();

}  // namespace ccl
