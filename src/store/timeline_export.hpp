// The timeline for people who want to look (--timeline-json): one Chrome trace (JSON, gzip if the name ends in .gz) for
// Perfetto or chrome://tracing. In: classified events of this worker's ranks, verdicts of their collectives; out: a
// process per rank, sorted by model replica, pipeline and stage, a track per kind of work, arrows from the rank that
// arrived last. Every worker writes the text of its ranks; worker 0 joins them in the order of /ranks.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "comm/comm.hpp"
#include "config/config.hpp"
#include "core/intervals.hpp"
#include "exchange/event_rows.hpp"
#include "exchange/groups.hpp"
#include "exchange/model_groups.hpp"
#include "exchange/ranks.hpp"
#include "exchange/records.hpp"

namespace ccl {

/// How every timeline of ours begins.
inline constexpr std::string_view timeline_begin = R"({"displayTimeUnit":"ms","otherData":{"program": "ccl-analyze")";

struct TimelineInput {
  const Config& config;
  const Workload& workload;
  const Ranks& ranks;
  const Groups& groups;
  const ClockModel& clock;
  const std::vector<std::vector<EventRow>>& events;  // by local trace
  const std::vector<Interval>& windows;              // by local trace, trace clock
  const std::vector<CollectiveRecord>& records;      // of this worker
  const std::vector<RecordVerdict>& verdicts;        // parallel to records
  const StringTable& strings;
  bool ended_early = false;  // then a timeline without anything to show is none, and no bad request
};

/// Collective. Throws FatalError(bad_request) if no rank or no event is left to show, (runtime_failure) if the file cannot
/// be written; then none is left behind. False: not written, since the run ended early and there is nothing to show. Cost:
/// the compressed text of all ranks on worker 0.
bool write_timeline(const TimelineInput& input, const Comm& comm);

/// "timeline: each rank begins at 0: …", a line, where one clock is asked for and is not known; else empty.
std::string own_clocks_line(const Config& config, const Ranks& ranks, const ClockModel& clock);

/// Which rows of /ranks are shown: chosen by --timeline-ranks, and of whole model replicas unless told otherwise.
std::vector<bool> shown_ranks(const Ranks& ranks, const ModelGroups& groups, const TimelineExportConfig& config);

/// Whether an event of a trace is shown: --step, and the window of --start and --end in that trace.
bool in_window(const Config& config, Interval window, const EventRow& row);

/// The events of one trace as JSON objects, each followed by a comma and a line end. origin_ns: what time 0 is on the
/// corrected clock, by row of /ranks. shown: as above.
std::string timeline_text(const TimelineInput& input, std::size_t trace, const ModelGroups& groups,
                          const std::vector<bool>& shown, const std::vector<std::int64_t>& origin_ns);

}  // namespace ccl
