// What a worker does with its files: read them one at a time (analyze; workers that share a file help each other), give the
// rows their agreed ranks and groups (settle), and finish the metrics with the graph of each step and the verdict (close_graphs,
// close: collective).
#pragma once
#include <memory>
#include <set>
#include <vector>

#include "config/config.hpp"
#include "core/problems.hpp"
#include "core/progress.hpp"
#include "discover/discover.hpp"
#include "exchange/event_rows.hpp"
#include "exchange/graph.hpp"
#include "exchange/groups.hpp"
#include "exchange/split_lists.hpp"
#include "exchange/ranks.hpp"
#include "metrics/metric.hpp"
#include "parse/classify.hpp"
#include "parse/nsys_survey.hpp"
#include "store/results.hpp"

namespace ccl {

using Metrics = std::vector<std::unique_ptr<Metric>>;

/// What remains of a worker's traces when their events are gone.
struct LocalResults {
  std::vector<RankFacts> facts;                     // by local trace number
  std::vector<std::vector<RankSegments>> segments;  // by local trace number; empty unless a metric wants them
  std::vector<Chain> chains;                        // by local trace number; empty unless a metric wants them
  std::vector<CollectiveRecord> records;            // of all traces, in order
  std::vector<std::size_t> first_record;            // by local trace number, and one past the end
  SplitWords splits;                                // of the all-to-alls among the records that have lists
  std::vector<std::vector<ProcessGroup>> groups;    // by local trace number
  std::vector<std::vector<bool>> sequence_everywhere;  // by local trace number and group: all its collectives carry Seq
  std::vector<Interval> windows;                    // by local trace number; of --start and --end, for the timeline
  std::vector<std::vector<EventRow>> events;        // by local trace number; only for --events and --timeline-json
  std::set<std::int64_t> steps_seen;                // step numbers of all traces; filled only if steps are asked for
  bool steps_chosen = false;                        // by --step
  bool keeps_chains = false;                        // alike on all workers
  std::int64_t snapshots_count = 0;  // memory snapshots that were read
  bool ended_early = false;
  std::shared_ptr<void> reading_memory;  // what readers kept for the next trace, until close()
};

/// Reads this worker's files, largest first; every metric sees every trace once. Memory: one trace's events, plus the
/// LocalResults (128 bytes per communication kernel; per GPU event ≤ 16 for segments, about 12 for chains).
/// communicators: those of all exports of the run (survey_communicators).
LocalResults analyze(const Input& input, const Config& config, const Classifier& classifier, const Comm& comm,
                     Metrics& metrics, StringTable& strings, Problems& problems, Progress& progress,
                     Timings& timings, const Communicators& communicators = {});

/// Whether the GPU events are kept beyond their trace.
bool keeps_events(const Config& config);

/// Whether a graph of each step is made: a metric asks for it, and it has something to say of so many ranks.
bool wants_chains(const Metrics& metrics, const Input& input);

/// Whether collectives are matched across ranks: a metric asks for it, or the timeline does.
bool wants_matching(const Metrics& metrics, const Config& config);

/// Steps that --step, --start and --end name, each as it was written and its number.
std::vector<std::pair<std::string, std::int64_t>> steps_asked(const Config& config);

/// Rank-local groups of the accepted traces, for agree_on_groups: they leave local.
std::vector<LocalGroup> local_groups(LocalResults& local, const Ranks& ranks, const Comm& comm);

/// Rows and records get their final rank, iteration, group, step shift and ordinal; those of left-out traces go.
void settle(LocalResults& local, const Ranks& ranks, const Groups& groups, const Comm& comm, Metrics& metrics);

/// The outcome of a run that matches nothing: no instances, no verdicts, every host on its own clock.
Matched unmatched(const Ranks& ranks);

/// matched() with the instances this worker owns, closing() for each of its ranks. Collective: workers without ranks lend
/// their processors meanwhile.
void close(LocalResults& local, const Matched& matched, ClosingContext context, const Comm& comm, Metrics& metrics);

/// graph() with each step this worker owns. The chains are given up. Collective; returns the bytes sent.
std::int64_t close_graphs(LocalResults& local, const Matched& matched, const ClosingContext& context, const Comm& comm,
                          Metrics& metrics, Problems& problems);

}  // namespace ccl
