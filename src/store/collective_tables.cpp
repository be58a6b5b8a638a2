#include "store/collective_tables.hpp"

#include <tuple>

#include "exchange/deal.hpp"

namespace ccl {
namespace {

/// An instance on its way to its row, and where its members wait.
struct DealtInstance {
  MatchedInstance instance;
  std::int64_t number = -1;
  std::int32_t group_row = -1;
  std::int32_t first_member_rank = -1, last_member_rank = -1;
  std::int32_t owner = 0;
  std::uint32_t local = 0;
};

// Pairs of one group and step may agree in everything but their members.
auto order_of(const DealtInstance& d) {
  const MatchedInstance& i = d.instance;
  return std::tuple(i.iteration, i.replica, i.step, d.group_row, i.sequence, i.ordinal, i.op, i.rule,
                    i.first_arrival_ns, i.last_end_ns, d.first_member_rank, d.last_member_rank, i.payload_bytes);
}

struct DealtMember {
  std::int64_t instance = -1;
  std::int64_t start_ns = 0, end_ns = 0, wait_ns = -1, payload_bytes = -1;
  RankId rank;
};

using D = DealtInstance;

ColumnSpec<D> number(std::string name, std::string unit, std::string description, std::optional<std::int64_t> absent,
                     std::function<std::int64_t(const MatchedInstance&)> value) {
  return number_spec<D, std::int64_t>({std::move(name), std::move(unit), std::move(description), {}, absent},
                                      [value = std::move(value)](const D& d) { return value(d.instance); });
}
ColumnSpec<D> text(std::string name, std::string description,
                   std::function<std::string_view(const MatchedInstance&)> value) {
  return text_spec<D>({std::move(name), "", std::move(description)},
                      [value = std::move(value)](const D& d) { return value(d.instance); });
}
ColumnSpec<D> flag(std::string name, std::string description, bool MatchedInstance::*member) {
  return number_spec<D, std::uint8_t>({std::move(name), "", std::move(description)},
                                      [member](const D& d) { return d.instance.*member ? 1 : 0; });
}

std::vector<ColumnSpec<D>> identity_columns() {
  using I = MatchedInstance;
  return {
      integer_column<D>("instance", "", "number of the instance: this row", {}, [](const D& d) { return d.number; }),
      number("iteration", "", "number of the iteration folder", -1, [](const I& i) { return i.iteration; }),
      number("step", "", "number of the step, after step_shift; -1 = outside every step", -1,
             [](const I& i) { return i.step; }),
      number("replica", "", "number of the TorchTitan replica", -1, [](const I& i) { return i.replica; }),
      integer_column<D>("group", "", "row of /process_groups", -1, [](const D& d) { return d.group_row; }),
      number("sequence", "", "NCCL sequence number", -1, [](const I& i) { return i.sequence; }),
      text("match", "how the members were found: seq, ordinal, aligned or pair",
           [](const I& i) { return to_text(i.rule); }),
      text("op", "operation", [](const I& i) { return to_text(i.op); }),
      text("dtype", "element type", [](const I& i) { return to_text(i.dtype); }),
      number("group_size", "", "ranks in the group", -1, [](const I& i) { return i.group_size; }),
      number("members_seen", "", "members whose trace is here", {}, [](const I& i) { return i.members_seen; }),
      text("link_class", "intra: all members on one host; inter: several; unknown",
           [](const I& i) { return to_text(i.link_class); }),
      number("payload_bytes", "bytes", "size of the operation in nccl-tests' sense", -1,
             [](const I& i) { return i.payload_bytes; }),
      number("wire_bytes", "bytes", "bytes that the members send over links, ring algorithm", -1,
             [](const I& i) { return i.wire_bytes; })};
}

void add_time_columns(std::vector<ColumnSpec<D>>& all) {
  using I = MatchedInstance;
  const auto time = [&](const char* name, const char* description, std::int64_t absent, std::int64_t I::*member) {
    all.push_back(number(name, "ns", description, absent, [member](const I& i) { return i.*member; }));
  };
  time("first_arrival_ns", "earliest start of a member, corrected clock", absent_ns, &I::first_arrival_ns);
  time("last_arrival_ns", "latest start of a member, corrected clock", absent_ns, &I::last_arrival_ns);
  time("last_end_ns", "latest end of a member, corrected clock", absent_ns, &I::last_end_ns);
  time("transfer_ns",
       "shortest duration of a member: the part that is not waiting; of a message the end of the recv - the later start, if "
       "this is longer by more than twice what the clocks leave",
       -1, &I::transfer_ns);
  time("lag_ns", "longest wait of a member", -1, &I::lag_ns);
  time("start_spread_ns", "latest minus earliest start, corrected clock", -1, &I::start_spread_ns);
  time("start_spread_file_ns", "the same on the clocks of the files", -1, &I::start_spread_file_ns);
  time("end_spread_ns", "latest minus earliest end, corrected clock", -1, &I::end_spread_ns);
  all.push_back(number("first_rank", "", "rank that waited longest", -1, [](const I& i) { return i.first_rank; }));
  all.push_back(number("last_rank", "", "rank that the others waited for", -1, [](const I& i) { return i.last_rank; }));
  time("delay_ns", "what would be saved if only the last rank were on time", -1, &I::delay_ns);
  time("wait_sum_ns", "waits of all members added up", -1, &I::wait_sum_ns);
  all.push_back(flag("tie", "several ranks were last at once; the lowest is named", &I::tie));
  all.push_back(flag("incomplete", "members are missing: transfer is an upper, wait a lower bound", &I::incomplete));
  all.push_back(flag("suspect",
                     "members do not end together or take no time for much, or it may be another message: transfer and waits "
                     "are absent",
                     &I::suspect));
  all.push_back(flag("coalesced", "one kernel carries several operations", &I::coalesced));
}

std::vector<ColumnSpec<DealtMember>> member_columns() {
  using M = DealtMember;
  return {column("instance", &M::instance, "", "row of /collectives/instances"),
          column("rank", &M::rank, "", "rank of the training run"),
          column("start_ns", &M::start_ns, "ns", "start of the member's kernel, corrected clock"),
          column("end_ns", &M::end_ns, "ns", "end of the member's kernel, corrected clock"),
          column("wait_ns", &M::wait_ns, "ns", "duration minus transfer_ns of the instance", -1),
          column("payload_bytes", &M::payload_bytes, "bytes", "the member's own size", -1)};
}

/// My instances in row order, with their numbers; the slices of all workers follow each other.
std::vector<D> deal_instances(const MatchedCollectives& mine, const Groups& groups, const Comm& comm) {
  std::vector<D> rows;
  rows.reserve(mine.instances.size());
  for (std::size_t i = 0; i < mine.instances.size(); ++i) {
    const MatchedInstance& instance = mine.instances[i];
    D row{.instance = instance,
          .group_row = groups.row_of(instance.group),
          .owner = comm.worker(),
          .local = static_cast<std::uint32_t>(i)};
    if (instance.members_seen > 0) {
      const std::size_t first = instance.first_member;
      row.first_member_rank = mine.members[first].rank.value;
      row.last_member_rank = mine.members[first + static_cast<std::size_t>(instance.members_seen) - 1].rank.value;
    }
    rows.push_back(row);
  }
  rows = deal(std::move(rows), comm, [](const D& a, const D& b) { return order_of(a) < order_of(b); });
  std::int64_t next = comm.exclusive_sum(static_cast<std::int64_t>(rows.size()));
  for (D& row : rows) row.number = next++;
  return rows;
}

/// The numbers go back to the owners, whose members then take their places.
std::vector<DealtMember> deal_members(const MatchedCollectives& mine, const std::vector<D>& dealt, const Ranks& ranks,
                                      const ClockModel& clock, const Comm& comm) {
  struct Numbered {
    std::int64_t number;
    std::uint32_t local;
  };
  std::vector<std::vector<Numbered>> back(static_cast<std::size_t>(comm.num_workers()));
  for (const D& row : dealt) back[static_cast<std::size_t>(row.owner)].push_back({row.number, row.local});
  const std::vector<std::int32_t> hosts = ranks.hosts_by_row();
  std::vector<DealtMember> rows;
  rows.reserve(mine.members.size());
  for (const Numbered& numbered : exchange_rows(comm, std::move(back))) {
    const MatchedInstance& instance = mine.instances[numbered.local];
    for (std::size_t i = 0; i < static_cast<std::size_t>(instance.members_seen); ++i) {
      const MatchedMember& member = mine.members[instance.first_member + i];
      const std::int32_t host = hosts[static_cast<std::size_t>(member.rank_row)];
      const auto corrected = [&](std::int64_t t_ns) { return host < 0 ? t_ns : clock.corrected(host, t_ns); };
      rows.push_back({numbered.number, corrected(member.start_ns), corrected(member.start_ns + member.dur_ns),
                      member.wait_ns, member.payload_bytes, member.rank});
    }
  }
  return deal(std::move(rows), comm, [](const DealtMember& a, const DealtMember& b) {
    return std::tuple(a.instance, a.rank, a.start_ns, a.end_ns) < std::tuple(b.instance, b.rank, b.start_ns, b.end_ns);
  });
}

}  // namespace

CollectiveTables collective_tables(const MatchedCollectives& mine, const Ranks& ranks, const Groups& groups,
                                   const ClockModel& clock, std::int64_t most_members, const Comm& comm) {
  CollectiveTables out;
  const std::vector<D> instances = deal_instances(mine, groups, comm);
  std::vector<ColumnSpec<D>> columns = identity_columns();
  add_time_columns(columns);
  out.instances = make_table("instances", "collectives matched across ranks, in order", columns, instances);
  out.members_left_out = comm.sum(static_cast<std::int64_t>(mine.members.size())) > most_members;
  std::vector<DealtMember> members;
  if (!out.members_left_out) members = deal_members(mine, instances, ranks, clock, comm);
  out.members = make_table("members", "each rank's part in each instance", member_columns(), members);
  return out;
}

}  // namespace ccl
