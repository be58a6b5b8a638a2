// What a file is, by its first bytes: gzip, SQLite, Kineto JSON, execution trace, memory snapshot. The name decides
// only where the content cannot (a compressed file damaged from its first byte on).
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "core/kinds.hpp"

namespace ccl {

/// What a file of no trace format is, where something depends on it.
enum class Other : std::uint8_t { nothing_known, json, pickle, packed, benchmark, nsys_report, named };

struct Sniffed {
  TraceFormat format = TraceFormat::unknown;
  Other other = Other::nothing_known;  // of format unknown
  bool gzip = false;
  bool readable = true;
  std::string what;              // "Kineto trace", "Nsight Systems report", "PDF", …: for lists
  std::string sentence;          // the same of what is no trace: "it is JSON without events"
  std::string advice;            // what to do with a file that is packed: "unpack it with unzstd"
  std::int64_t world_size = -1;  // distributedInfo.world_size if it is among the first bytes
  std::int64_t rank = -1;        // distributedInfo.rank, likewise
};

/// Reads at most the first 64 KB (and inflates at most 64 KB of them).
Sniffed sniff(const std::string& path);
/// The same for bytes at hand (decompressed). `name` is the hint.
Sniffed sniff_content(std::string_view head, std::string_view name);

}  // namespace ccl
