#include "core/problems.hpp"

#include <algorithm>
#include <tuple>

#include "core/edit_distance.hpp"

namespace ccl {
namespace {

constexpr Severity notice = Severity::notice;
constexpr Severity loss = Severity::data_loss;
constexpr Severity error = Severity::error;

constexpr std::array<CodeInfo, code_count> table{{
    {Code::file_cut, "file_cut", loss, "The trace file ends before its last event is complete.", "Events before the cut are used; check that the profiler finished writing."},
    {Code::gzip_cut, "gzip_cut", loss, "The compressed file ends early or is damaged.", "Events before the damage are used; copy the file again."},
    {Code::gzip_trailing_bytes, "gzip_trailing_bytes", notice, "Bytes that are not gzip follow the compressed data.", "They are ignored."},
    {Code::event_damaged, "event_damaged", loss, "Events of the file are missing, or can not be used and were left out.", "The rest of the file is used."},
    {Code::json_invalid, "json_invalid", error, "The file is not a usable trace.", "It is left out; look at the first bytes of the file."},
    {Code::unknown_format, "unknown_format", notice, "The file is no trace format this program knows.", "It is ignored."},
    {Code::empty_file, "empty_file", loss, "The file has no bytes.", "It is left out; the profiler probably never wrote it."},
    {Code::unreadable_file, "unreadable_file", error, "The file could not be read.", "It is left out; check permissions and the file system."},
    {Code::no_gpu_events, "no_gpu_events", notice, "The trace has no GPU events.", "Profile with ProfilerActivity.CUDA."},
    {Code::no_rank, "no_rank", error, "Neither the content nor the name of the file tells its rank.", "It is left out; use --rank-regex."},
    {Code::duplicate_rank, "duplicate_rank", loss, "Several files claim the same rank.", "The first in natural path order is used."},
    {Code::other_world_size, "other_world_size", loss, "The file comes from a run with another number of ranks.", "It is left out; separate the runs."},
    {Code::missing_ranks, "missing_ranks", notice, "Ranks of the training run have no trace here.", "Cross-rank numbers cover the ranks present."},
    {Code::rank_from_name_after_clash, "rank_from_name_after_clash", notice, "Several files claim one rank inside, or one claims a rank that the run does not have; the numbers in their names were used.", "Check that the names are right."},
    {Code::step_numbers_differ, "step_numbers_differ", notice, "A rank numbers its steps differently from the others.", "A constant shift was applied where one fits, else the rank takes no part in cross-rank numbers; the detail says which."},
    {Code::no_step_markers, "no_step_markers", notice, "The trace has no ProfilerStep markers.", "The whole GPU span counts as one step, or where most other ranks have markers it is in no number of a step; call prof.step() in the training loop."},
    {Code::no_launch_records, "no_launch_records", notice, "The trace lacks CPU launch records, or its GPU events do not name them.", "GPU start times decide the step of an event, or where only some lack the launches around theirs."},
    {Code::kernels_outside_steps, "kernels_outside_steps", notice, "GPU events were launched outside every step.", "They count in whole-file rows only."},
    {Code::unknown_dtype, "unknown_dtype", notice, "A collective has an element type of unknown size.", "Its bytes are unknown."},
    {Code::bytes_unknown, "bytes_unknown", notice, "Communication kernels carry no message size.", "They count in time, not in bytes; newer PyTorch writes the sizes."},
    {Code::inout_disagree, "inout_disagree", notice, "In and out sizes of a collective do not fit its group size, its split lists or its members', or are more than a GPU holds; or its group is larger than the run.", "The larger of the two is used, and nothing that can not be."},
    {Code::group_members_unknown, "group_members_unknown", notice, "A process group's member list is nowhere complete.", "The group is known by name and size only."},
    {Code::collective_unmatched, "collective_unmatched", notice, "Collectives have no partner on another rank.", "They take no part in cross-rank numbers."},
    {Code::collective_incomplete, "collective_incomplete", notice, "Collectives miss members whose traces are not here.", "Transfer is an upper bound, wait a lower bound."},
    {Code::collective_suspect, "collective_suspect", notice, "Members of a matched collective do not end together, have it in another order or take no time for it, or it may be another message.", "The match may be wrong, so waits and blame leave them out; see suspect in /collectives/instances."},
    {Code::matching_not_credible, "matching_not_credible", notice, "Too many matches of a process group are suspect.", "Its cross-rank numbers are absent."},
    {Code::clock_uncorrected, "clock_uncorrected", notice, "A host shares no matched collective with the reference host.", "Its times are on its own clock."},
    {Code::clock_and_duration_disagree, "clock_and_duration_disagree", notice, "Lag by clock and lag by duration differ by more than the clock error.", "Trust the duration form."},
    {Code::negative_duration, "negative_duration", notice, "Events of the CPU have a negative duration.", "They count as zero."},
    {Code::time_out_of_range, "time_out_of_range", loss, "Time stamps are no numbers, do not fit 64-bit nanoseconds or lie outside what the profiler recorded, an event lasts longer than a day, or a step marker goes on while the next steps run.", "The events were left out."},
    {Code::overlap_on_stream, "overlap_on_stream", notice, "Events of one stream overlap in time.", "Unions are used, so no time is counted twice."},
    {Code::card_invalid, "card_invalid", notice, "The workload card or a value of it could not be used.", "Metrics that need it are absent; check the YAML."},
    {Code::card_disagrees, "card_disagrees", notice, "The workload card disagrees with the traces, the run's configuration or itself, or has keys that are not read.", "The traces are believed; the detail says what was done."},
    {Code::config_file_invalid, "config_file_invalid", notice, "A configuration file of the training run could not be used, or not all of it.", "What cannot be used is ignored; the detail says why."},
    {Code::mfu_over_100, "mfu_over_100", notice, "The computed MFU is above 100 %.", "Check model size, batch and peak."},
    {Code::size_limit, "size_limit", loss, "A file or value exceeds a safety limit.", "It was cut there; limits are settings."},
    {Code::not_read, "not_read", loss, "The run ended before the file was read.", "Run again without the time limit."},
    {Code::feature_off, "feature_off", notice, "This build lacks a library that the file needs.", "Rebuild with it."},
    {Code::rank_guessed, "rank_guessed", notice, "Nothing in the file tells the ranks of its processes.", "They were numbered by device; use --rank-regex or label the processes."},
    {Code::profiler_warning, "profiler_warning", notice, "The profiler itself reported a problem, or left a step marker open.", "Read the detail; events may be missing."},
    {Code::two_profilers, "two_profilers", notice, "A rank was recorded by PyTorch's profiler and by Nsight Systems.", "PyTorch's trace is used; --profile-mode nsys uses the other."},
    {Code::pickle_refused, "pickle_refused", error, "The pickle holds an instruction that would run code.", "It is left out and nothing was run; memory snapshots hold none: find out who wrote the file."},
    {Code::pickle_invalid, "pickle_invalid", error, "The pickle is cut, damaged or no memory snapshot.", "It is left out."},
    {Code::steps_without_gpu_events, "steps_without_gpu_events", notice, "Steps are marked in which nothing ran on the GPU.", "Means are over the steps with GPU events; profile with ProfilerActivity.CUDA for all of them."},
    {Code::one_event_dominates, "one_event_dominates", notice, "A single GPU event is more than nine tenths of all GPU time of its rank.", "It may be malformed: sums and means follow it; look at the steps one by one."},
    {Code::events_far_from_others, "events_far_from_others", notice, "A few GPU events of a rank lie more than a minute, and ten times the span of all others, before or behind these.", "Their times may be malformed: spans, periods and gaps follow them; the detail names the farthest, look at it in the file."},
    {Code::host_clocks_differ, "host_clocks_differ", notice, "Ranks of one host end common collectives at times that are usually far apart.", "They probably are not on one host: say where they ran with --host-map."},
    {Code::busbw_above_peak, "busbw_above_peak", notice, "Collectives are more than twice as fast as the link that they use.", "Check the hosts (--host-map) and the peak (--peak, card)."},
    {Code::duration_missing, "duration_missing", loss, "GPU events have no duration, or one that is negative or no number.", "The events were left out."},
}};

}  // namespace

std::string_view to_text(Severity severity) {
  switch (severity) {
    case Severity::notice: return "notice";
    case Severity::data_loss: return "data_loss";
    case Severity::error: break;
  }
  return "error";
}

const CodeInfo& info(Code code) { return table[static_cast<std::size_t>(code)]; }

namespace {

auto subject(const Problem& p) {
  return std::tuple(-static_cast<int>(info(p.code).severity), p.code, p.iteration, p.rank, std::string_view(p.file),
                    p.offset, std::string_view(p.detail));
}

}  // namespace

std::weak_ordering operator<=>(const Problem& a, const Problem& b) {
  const std::weak_ordering order = subject(a) <=> subject(b);
  return order != 0 ? order : a.count <=> b.count;
}

void Problems::add(Problem problem) {
  counts_[static_cast<std::size_t>(problem.code)] += problem.count;
  keep(std::move(problem));
}

// A row that is dropped can not come back: the smaller ones that push it out stay, or give way to yet smaller ones.
void Problems::keep(Problem problem) {
  auto& rows = rows_[static_cast<std::size_t>(problem.code)];
  const auto at = std::lower_bound(rows.begin(), rows.end(), problem,
                                   [](const Problem& a, const Problem& b) { return subject(a) < subject(b); });
  if (at != rows.end() && subject(*at) == subject(problem)) {
    at->count += problem.count;
    return;
  }
  rows.insert(at, std::move(problem));
  if (rows.size() > rows_per_code) rows.pop_back();
}

void Problems::unite(const Problems& other) {
  for (std::size_t code = 0; code < code_count; ++code) {
    counts_[code] += other.counts_[code];
    for (const Problem& problem : other.rows_[code]) keep(problem);
  }
}

void Problems::forget(Code code) {
  counts_[static_cast<std::size_t>(code)] = 0;
  rows_[static_cast<std::size_t>(code)].clear();
}

std::int64_t Problems::count(Severity severity) const {
  std::int64_t total = 0;
  for (const CodeInfo& row : table)
    if (row.severity == severity) total += count(row.code);
  return total;
}

std::vector<Problem> Problems::rows() const {
  std::vector<Problem> all;
  for (const auto& rows : rows_) all.insert(all.end(), rows.begin(), rows.end());
  std::sort(all.begin(), all.end());
  return all;
}

Bytes Problems::pack() const {
  ByteWriter out;
  out.value(counts_);
  for (const auto& rows : rows_) {
    out.value<std::uint64_t>(rows.size());
    for (const Problem& p : rows) {
      out.value(p.code);
      out.value(p.iteration);
      out.value(p.rank);
      out.text(p.file);
      out.value(p.offset);
      out.value(p.count);
      out.text(p.detail);
    }
  }
  return out.take();
}

Problems Problems::unpack(std::span<const std::byte> bytes) {
  Problems out;
  ByteReader in(bytes);
  out.counts_ = in.value<std::array<std::int64_t, code_count>>();
  for (auto& rows : out.rows_) {
    rows.resize(in.value<std::uint64_t>());
    for (Problem& p : rows) {
      p.code = in.value<Code>();
      p.iteration = in.value<std::int32_t>();
      p.rank = in.value<std::int32_t>();
      p.file = in.text();
      p.offset = in.value<std::int64_t>();
      p.count = in.value<std::int64_t>();
      p.detail = in.text();
    }
  }
  return out;
}

std::string closest(std::string_view word, std::span<const std::string> known) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : known) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance >= best_distance) continue;
    best_distance = distance;
    best = candidate;
  }
  return best;
}

}  // namespace ccl
