// The rows of straggler_lag, shared by its two halves: matched() in straggler_lag.cpp fills them, the page is written
// from them in straggler_report.cpp.
#pragma once
#include <variant>

#include "metrics/format.hpp"
#include "metrics/metric.hpp"
#include "metrics/spread.hpp"
#include "metrics/straggler_causes.hpp"

namespace ccl::straggler {

/// Sums over the matched symmetric instances a rank takes part in.
struct Waits {
  std::int64_t wait_ns = 0, blame_ns = 0, blamed_wait_ns = 0, lateness_ns = 0;
  std::int64_t instances_count = 0, last_count = 0, first_count = 0;
  std::int64_t last_incomplete_count = 0, last_members_seen = 0;  // members_seen: the most, not a sum
  void combine(const Waits& other);
};

template <class Row>
std::vector<ColumnSpec<Row>> waits_columns() {
  std::vector<ColumnSpec<Row>> all;
  const auto add = [&](const char* name, std::int64_t Waits::*member, const char* unit, const char* description) {
    all.push_back(
        integer_column<Row>(name, unit, description, {}, [member](const Row& row) { return row.waits.*member; }));
  };
  add("wait_ns", &Waits::wait_ns, "ns", "sum of its own waits: duration - shortest duration of the collective");
  add("blame_ns", &Waits::blame_ns, "ns", "where it is last: sum of second shortest - shortest duration");
  add("blamed_wait_ns", &Waits::blamed_wait_ns, "ns", "where it is last: sum of the others' waits");
  add("lateness_ns", &Waits::lateness_ns, "ns", "sum of longest duration - its own duration");
  add("instances_count", &Waits::instances_count, "", "matched symmetric collectives it takes part in");
  add("last_count", &Waits::last_count, "", "of them: it arrives last");
  add("first_count", &Waits::first_count, "", "of them: it arrives first");
  add("last_incomplete_count", &Waits::last_incomplete_count, "", "of last_count: some members were not seen");
  return all;
}

template <class Row>
std::vector<ColumnSpec<Row>> with_waits(std::vector<ColumnSpec<Row>> all) {
  for (auto& spec : waits_columns<Row>()) all.push_back(std::move(spec));
  return all;
}

struct Row {
  StepId step;
  RankId rank;
  std::int32_t replica = -1;
  Waits waits;
  auto key() const { return std::tuple(step, rank, replica); }
  void combine(const Row& other) { waits.combine(other.waits); }
  static TableInfo table() { return {"rows", "waiting and blame of each rank in each step"}; }
  static std::vector<ColumnSpec<Row>> columns(const Resolver&) { return with_waits(key_columns<Row>()); }
};

struct ByGroup {
  std::int32_t iteration = -1;
  RankId rank;
  std::int32_t replica = -1;
  GroupId group;
  Dimension dimension = Dimension::unknown;
  Waits waits;
  auto key() const { return std::tuple(iteration, rank, replica, group); }
  void combine(const ByGroup& other) { waits.combine(other.waits); }
  static TableInfo table() { return {"by_group", "waiting and blame of each rank on each process group"}; }
  static std::vector<ColumnSpec<ByGroup>> columns(const Resolver& resolver) {
    std::vector<ColumnSpec<ByGroup>> all = key_columns<ByGroup>();
    all.push_back(group_column<ByGroup>(resolver));
    all.push_back(column("dimension", &ByGroup::dimension, "", "parallelism the group serves"));
    return with_waits(std::move(all));
  }
};

struct ByDimension {
  std::int32_t iteration = -1;
  RankId rank;
  std::int32_t replica = -1;
  Dimension dimension = Dimension::unknown;
  Waits waits;
  auto key() const { return std::tuple(iteration, rank, replica, dimension); }
  void combine(const ByDimension& other) { waits.combine(other.waits); }
  static TableInfo table() { return {"by_dimension", "waiting and blame of each rank by parallelism"}; }
  static std::vector<ColumnSpec<ByDimension>> columns(const Resolver&) {
    std::vector<ColumnSpec<ByDimension>> all = key_columns<ByDimension>();
    all.push_back(column("dimension", &ByDimension::dimension, "", "parallelism the groups serve"));
    return with_waits(std::move(all));
  }
};

/// B[q][r], sparse: how long q waits in the collectives where r is last.
struct Blame {
  std::int32_t iteration = -1, replica = -1;
  std::int32_t waiting_rank = -1, last_rank = -1;
  std::int64_t wait_ns = 0, instances_count = 0;
  auto key() const { return std::tuple(iteration, replica, waiting_rank, last_rank); }
  void combine(const Blame& other) {
    wait_ns += other.wait_ns;
    instances_count += other.instances_count;
  }
  static TableInfo table() { return {"blame_matrix", "how long a rank waits where another is last"}; }
  static std::vector<ColumnSpec<Blame>> columns(const Resolver&) {
    std::vector<ColumnSpec<Blame>> all = key_columns<Blame>();
    all.push_back(column("waiting_rank", &Blame::waiting_rank, "", "who waits"));
    all.push_back(column("last_rank", &Blame::last_rank, "", "for whom"));
    all.push_back(column("wait_ns", &Blame::wait_ns, "ns", "sum of the waits"));
    all.push_back(column("instances_count", &Blame::instances_count, "", "collectives"));
    return all;
  }
};

using Lag = Valued<std::monostate>;  // of every instance
using LagSpread = SpreadOf<std::monostate>;

/// Not written: the first matched collective of a rank, whose lateness comes from before all that was matched.
struct FirstMeeting {
  std::int32_t replica = -1;
  RankId rank;
  std::int32_t iteration = -1;
  std::int64_t start_ns = 0, blamed_wait_ns = 0;  // the others' waits if it is last
  auto key() const { return std::tuple(replica, rank); }
  void combine(const FirstMeeting& other) {
    if (std::tuple(other.iteration, other.start_ns, other.blamed_wait_ns) < std::tuple(iteration, start_ns, blamed_wait_ns))
      *this = other;
  }
  static TableInfo table() { return {}; }
  static std::vector<ColumnSpec<FirstMeeting>> columns(const Resolver&) { return {}; }
};

/// Not written: how many symmetric instances there are, and how many of them may be believed. suspects_count: those that
/// are left out one by one, where their group is believed.
struct Tally {
  std::int64_t instances_count = 0, credible_count = 0, suspects_count = 0;
  auto key() const { return std::tuple<>(); }
  void combine(const Tally& other) {
    instances_count += other.instances_count;
    credible_count += other.credible_count;
    suspects_count += other.suspects_count;
  }
  static TableInfo table() { return {}; }
  static std::vector<ColumnSpec<Tally>> columns(const Resolver&) { return {}; }
};

using Tables =
    RowTables<Row, ByGroup, ByDimension, Blame, Lag, LagSpread, Tally, FirstMeeting, CauseSums, Elsewhere, Transfer, Compute>;

/// Line and table where no rank has a peer to be compared with.
void add_history(const Tables& tables, Report& out);
/// What a reader without /process_groups needs of the group of a row.
template <class Row>
void add_group_texts(const Groups& groups, std::vector<ColumnSpec<Row>>& all) {
  all.push_back(text_column<Row>("group_name", "its description, else its name", [&groups](const Row& row) {
    const Group& group = group_of(groups, row.group);
    return group.description.empty() ? group.name : group.description;
  }));
  all.push_back(text_column<Row>("dimension", "parallelism that the group serves", [&groups](const Row& row) {
    return std::string(to_text(group_of(groups, row.group).dimension));
  }));
  all.push_back(text_column<Row>("group_ranks", "its members as far as they are known", [&groups](const Row& row) {
    return rank_list(group_of(groups, row.group).members);
  }));
}

/// A rank that is called a straggler, as the page tells it.
struct Named {
  std::int32_t replica = -1;
  RankId rank;
  std::optional<StepId> since;  // nothing: from the first step seen, or not lasting
  Persistence persistence;
  double delay_ns = 0, period_ns = 0;  // of a step, over those of the call
  std::int64_t last_count = 0, instances_count = 0, others_wait_ns = 0;
  GroupId group;                // with the largest part of the delay
  double group_share = 0;
  Cause cause = Cause::unexplained;
  std::string why, host;        // host: its key, "" unknown
};
ResultTable stragglers_table(const std::vector<Named>& rows, const Groups& groups);
/// Of a rank's blame what is its own, over all steps.
struct OwnShare {
  std::int32_t replica = -1;
  RankId rank;
  bool named = false;  // as a straggler
  std::int64_t own_ns = 0;
  double of_period = 0;  // own_ns / its summed step periods
};
/// Lines, headlines and the table own_blame. all: every blame of every rank, sorted by (replica, rank). Returns those
/// that meet peers, sorted alike.
std::vector<OwnShare> add_stragglers(const std::vector<RankBlame>& all, const Tables& tables, const Stages& stages,
                                     const ReportContext& context, Report& out);
/// Status, headlines, page and long form.
void write_straggler_report(const Tables& tables, const ReportContext& context, Report& out);

}  // namespace ccl::straggler
