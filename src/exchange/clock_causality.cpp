// No message is over before it was sent. Where the corrected clocks say so, a linear clock is not enough (it was set,
// or its speed changed): a controlled logical clock moves the receiver's host on to the start of the send and lets it
// fall back to its own time slowly.
#include <algorithm>

#include "core/collective_math.hpp"
#include "exchange/clock.hpp"

namespace ccl {
namespace {

constexpr std::int64_t falls_back_per = 100;  // 1 ns in 100: time still goes on by 99 % of what it did
constexpr std::int64_t stair_ns = 100, most_stairs = 64;
constexpr int most_rounds = 4;

/// A message between two hosts; times of the hosts' own clocks.
struct Message {
  std::int32_t from_host = -1, to_host = -1;
  std::int64_t send_start_ns = 0, recv_end_ns = 0;
};

std::vector<Message> messages_of(const MatchedCollectives& matched, const Ranks& ranks, const ClockModel& clock) {
  std::vector<Message> messages;
  const std::vector<std::int32_t> hosts = ranks.hosts_by_row();
  for (const MatchedInstance& instance : matched.instances) {
    if (!is_point_to_point(instance.op) || !instance.credible || instance.suspect || instance.members_seen != 2)
      continue;
    const MatchedMember& sender = matched.members[instance.first_member];
    const MatchedMember& receiver = matched.members[instance.first_member + 1];
    const auto host = [&](const MatchedMember& m) { return hosts[static_cast<std::size_t>(m.rank_row)]; };
    // What ranks of one host disagree by would move the whole host, and with it those that it sends to.
    const auto corrected = [&](std::int32_t h) {
      return h >= 0 && clock.hosts[static_cast<std::size_t>(h)].corrected &&
             std::ranges::find(clock.apart, h, &ClocksApart::host) == clock.apart.end();
    };
    const Message message{host(sender), host(receiver), sender.start_ns, receiver.start_ns + receiver.dur_ns};
    if (message.from_host != message.to_host && corrected(message.from_host) && corrected(message.to_host))
      messages.push_back(message);
  }
  return messages;
}

std::int64_t early_ns(const Message& m, const ClockModel& clock) {
  return clock.corrected(m.from_host, m.send_start_ns) - clock.corrected(m.to_host, m.recv_end_ns);
}

/// What a host's clock is moved on by, from a time on; it falls back in stairs.
struct Push {
  std::int64_t from_ns = 0, by_ns = 0;
  std::int64_t stairs() const { return std::clamp(by_ns / stair_ns, std::int64_t{1}, most_stairs); }
  std::int64_t stair_from_ns(std::int64_t stair) const { return from_ns + by_ns * falls_back_per / stairs() * stair; }
  std::int64_t at_ns(std::int64_t t_ns) const {
    if (t_ns < from_ns) return 0;
    const std::int64_t stair = (t_ns - from_ns) / std::max<std::int64_t>(1, by_ns * falls_back_per / stairs());
    return stair >= stairs() ? 0 : by_ns - by_ns * stair / stairs();
  }
};
using Pushes = std::vector<Push>;

std::int64_t pushed_ns(const Pushes& pushes, std::int64_t t_ns) {
  std::int64_t most = 0;
  for (const Push& push : pushes) most = std::max(most, push.at_ns(t_ns));
  return most;
}

std::vector<Pushes> find_pushes(std::vector<Message> messages, const ClockModel& clock) {
  const auto key = [&](const Message& m) {
    return std::tuple(clock.corrected(m.to_host, m.recv_end_ns), m.to_host, m.from_host, m.send_start_ns);
  };
  std::sort(messages.begin(), messages.end(), [&](const Message& a, const Message& b) { return key(a) < key(b); });
  std::vector<Pushes> pushes(clock.hosts.size());
  bool moved = true;
  for (int round = 0; moved && round < most_rounds; ++round) {  // a push may make what its host sends later too late
    moved = false;
    for (const Message& m : messages) {
      Pushes& to = pushes[static_cast<std::size_t>(m.to_host)];
      const std::int64_t need_ns = early_ns(m, clock) + pushed_ns(pushes[static_cast<std::size_t>(m.from_host)], m.send_start_ns);
      if (need_ns <= pushed_ns(to, m.recv_end_ns)) continue;
      to.push_back({m.recv_end_ns, need_ns});
      moved = true;
    }
  }
  return pushes;
}

/// The offsets of a host with its pushes on top.
void add_to_offsets(std::int32_t host, const Pushes& pushes, const ClockModel& before, ClockModel& clock) {
  std::vector<std::int64_t> times;
  for (const ClockModel::LaterOffset& later : before.later)
    if (later.host == host) times.push_back(later.from_ns);
  for (const Push& push : pushes)
    for (std::int64_t stair = 0; stair <= push.stairs(); ++stair) times.push_back(push.stair_from_ns(stair));
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  std::erase_if(clock.later, [&](const ClockModel::LaterOffset& later) { return later.host == host; });
  for (const std::int64_t t_ns : times)
    clock.later.push_back({host, t_ns, before.offset_ns(host, t_ns) + pushed_ns(pushes, t_ns)});
}

}  // namespace

void keep_causality(const MatchedCollectives& matched, const Ranks& ranks, const Comm& comm, ClockModel& clock,
                    Problems& problems) {
  const std::vector<Message> mine = messages_of(matched, ranks, clock);
  std::int64_t count = 0, worst_ns = 0;
  for (const Message& m : mine) {
    count += early_ns(m, clock) > 0 ? 1 : 0;
    worst_ns = std::max(worst_ns, early_ns(m, clock));
  }
  count = comm.sum(count);
  if (count == 0) return;
  worst_ns = comm.max(worst_ns);
  const ClockModel before = clock;
  const std::vector<Pushes> pushes = find_pushes(gather_all_rows(comm, mine), before);
  for (std::size_t host = 0; host < pushes.size(); ++host)
    if (!pushes[host].empty()) add_to_offsets(static_cast<std::int32_t>(host), pushes[host], before, clock);
  std::sort(clock.later.begin(), clock.later.end(), [](const auto& a, const auto& b) {
    return std::tie(a.host, a.from_ns) < std::tie(b.host, b.from_ns);
  });
  if (!comm.is_first()) return;
  Problem problem;
  problem.code = Code::clock_and_duration_disagree;
  problem.count = count;
  problem.detail = "messages that were over before they were sent, by up to " + std::to_string(worst_ns) +
                   " ns on the corrected clocks: their receivers' hosts are moved on from there";
  problems.add(problem);
}

}  // namespace ccl
