// The parts of resolve_ranks(): who is which rank, on which host, with which step numbers. All pure.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "exchange/ranks.hpp"

namespace ccl {

/// The file a trace was read from; one without names for a trace that came from none.
const TraceFile& file_of(const RankFacts& facts, const Input& input);

/// Accepted entries out, sorted by (iteration, replica, rank); what is not accepted goes to ranks.left_out and is
/// named. Sets ranks.world_size.
void settle_rank_numbers(std::vector<RankFacts> facts, const Input& input, const Config& config, Ranks& ranks,
                         Problems& problems);

/// Fills host, host_source, host_index of the entries, ranks.hosts and ranks.ranks_per_host. A card whose blocks the
/// ranks' devices contradict is named.
void settle_hosts(const Input& input, Ranks& ranks, Problems& problems);

/// Name of a host that is a block of ranks: "ranks 8-15"; no rank at or above world_size (-1: unknown) is named.
std::string block_name(std::int32_t replica, std::int64_t first, std::int64_t size, std::int64_t world_size);

/// Within each (iteration, replica): where numbers differ, the times of the steps tell which are the same, if they can.
/// Else a rank that shares fewer than half of its steps with the numbering most ranks use
/// gets the shift in ±10 that lets it share most, if that is at least half; else it takes no part. Traces without
/// markers have no steps where most others have them, nor those with markers where most have none: the whole of a trace
/// is no step of the others.
void settle_steps(Ranks& ranks, const Input& input, Problems& problems);
constexpr std::int64_t largest_step_shift = 10;
/// What to add to the step numbers of each of these entries of one iteration, as far as the times of their steps tell:
/// by overlap among ranks of one host, by the ends of steps between hosts. trusted: whose numbers win a tie.
std::vector<std::optional<std::int64_t>> shifts_by_time(const std::vector<RankEntry*>& entries,
                                                        const std::vector<bool>& trusted);

/// "0-2, 5" for ascending numbers.
std::string ranges_text(const std::vector<std::int32_t>& numbers);

}  // namespace ccl
