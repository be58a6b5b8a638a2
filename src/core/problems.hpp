// Named warnings about bad input, and the one exception for bad requests and runtime failures.
// Every warning has a code of the table below; counts are kept for all of them, the first rows of each are shown.
// Message grammar: problem (why) suggestion?
#pragma once
#include <array>
#include <compare>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "core/bytes.hpp"

namespace ccl {

enum class Severity : std::uint8_t { notice, data_loss, error };
std::string_view to_text(Severity severity);

/// Order = order in /warnings/counts. Add a code here and its line in problems.cpp.
enum class Code : std::uint16_t {
  file_cut, gzip_cut, gzip_trailing_bytes, event_damaged, json_invalid, unknown_format, empty_file, unreadable_file,
  no_gpu_events, no_rank, duplicate_rank, other_world_size, missing_ranks, rank_from_name_after_clash,
  step_numbers_differ, no_step_markers, no_launch_records, kernels_outside_steps, unknown_dtype, bytes_unknown,
  inout_disagree, group_members_unknown, collective_unmatched, collective_incomplete, collective_suspect,
  matching_not_credible, clock_uncorrected, clock_and_duration_disagree, negative_duration, time_out_of_range,
  overlap_on_stream, card_invalid, card_disagrees, config_file_invalid, mfu_over_100, size_limit, not_read,
  feature_off, rank_guessed, profiler_warning, two_profilers,
  pickle_refused, pickle_invalid,
  steps_without_gpu_events, one_event_dominates, events_far_from_others, host_clocks_differ, busbw_above_peak,
  duration_missing,
  count_  // not a code
};
inline constexpr std::size_t code_count = static_cast<std::size_t>(Code::count_);

struct CodeInfo {
  Code code;
  std::string_view name;
  Severity severity;
  std::string_view meaning;  // one sentence
  std::string_view advice;   // what to do about it
};
const CodeInfo& info(Code code);

/// One culprit. file is a path relative to the trace folder; unknown numbers are −1.
struct Problem {
  Code code{};
  std::int32_t iteration = -1;
  std::int32_t rank = -1;
  std::string file = {};
  std::int64_t offset = -1;   // byte in the (decompressed) file
  std::int64_t count = 1;     // how many things this row stands for
  std::string detail = {};
  /// (severity descending, code, iteration, rank, file, offset, detail): the order of /warnings/rows.
  friend std::weak_ordering operator<=>(const Problem& a, const Problem& b);
  friend bool operator==(const Problem& a, const Problem& b) { return (a <=> b) == 0; }
};

/// Collects warnings on one worker; unites with those of others. Equal ones are one row. Rows are capped at 100 a
/// code, the smallest kept,
/// so what survives does not depend on the number of workers or on the order of the files.
class Problems {
 public:
  static constexpr std::size_t rows_per_code = 100;

  void add(Problem problem);
  void unite(const Problems& other);
  /// As if none of this code had been added.
  void forget(Code code);
  std::int64_t count(Code code) const { return counts_[static_cast<std::size_t>(code)]; }
  std::int64_t count(Severity severity) const;
  /// All kept rows, sorted.
  std::vector<Problem> rows() const;

  Bytes pack() const;
  static Problems unpack(std::span<const std::byte> bytes);

 private:
  void keep(Problem problem);

  std::array<std::int64_t, code_count> counts_{};
  std::array<std::vector<Problem>, code_count> rows_;
};

/// Exit codes of the programs.
enum class ExitCode : int {
  done = 0, runtime_failure = 1, bad_request = 2, strict_losses = 3, ended_early = 4, bound_broken = 5
};

/// A bad request (exit 2) or runtime failure (exit 1). Thrown anywhere below main; comm's together() makes every
/// worker throw the same one; only main prints it.
class FatalError : public std::runtime_error {
 public:
  FatalError(ExitCode exit_code, const std::string& message) : std::runtime_error(message), exit_code_(exit_code) {}
  ExitCode exit_code() const { return exit_code_; }

 private:
  ExitCode exit_code_;
};

/// "did you mean" for a mistyped word: the known word at the smallest edit distance if it is close enough, else "".
std::string closest(std::string_view word, std::span<const std::string> known);

}  // namespace ccl
