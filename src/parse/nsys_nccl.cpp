// NCCL's own NVTX ranges -> the collectives of one process. A kernel belongs to the call whose range, on the thread
// that launched it, contains its launch; inside a group that is ncclGroupEnd, and the calls since ncclGroupStart.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "core/collective_math.hpp"
#include "parse/nsys_build.hpp"

namespace ccl {
namespace {

template <class T>
T read_at(std::span<const std::byte> bytes, std::size_t offset) {
  T value{};
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

// First number after "key" in a JSON text; digits may be quoted. Communicator ids need all 64 bits.
bool number_in_json(std::string_view json, std::string_view key, std::uint64_t& value) {
  const std::size_t at = json.find(key);
  if (at == std::string_view::npos) return false;
  const std::size_t colon = json.find(':', at + key.size());
  if (colon == std::string_view::npos) return false;
  const std::size_t digit = json.find_first_of("0123456789", colon);
  if (digit == std::string_view::npos) return false;
  return std::from_chars(json.data() + digit, json.data() + json.size(), value).ec == std::errc();
}

constexpr std::string_view communicator_field = "NCCL communicator ID", size_field = "Message size [bytes]",
                           rank_field = "Rank", ranks_field = "No. of ranks", peer_field = "Peer rank";

// Larger values in a payload are damage; with them, sums and products could not be trusted.
constexpr std::int64_t largest_message_bytes = std::int64_t{1} << 46;
constexpr std::int32_t largest_group = 1 << 16;

constexpr std::uint32_t no_group = 0xFFFFFFFF;  // until the call of a kernel is found

std::string group_name(std::uint64_t communicator) {
  std::array<char, 24> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), communicator, 16).ptr;
  return "comm 0x" + std::string(text.data(), end);
}

}  // namespace

void NsysBuild::decode_payload(const NsysRangeRow& row, Range& range) {
  const auto set = [&](std::string_view field, std::uint64_t value) {
    if (field == communicator_field) range.communicator = value;
    if (field == size_field) range.bytes = static_cast<std::int64_t>(value);
    if (field == rank_field) range.comm_rank = static_cast<std::int32_t>(value);
    if (field == ranks_field) range.comm_size = static_cast<std::int32_t>(value);
    if (field == peer_field) range.peer = static_cast<std::int32_t>(value);
  };
  for (const std::string_view field : {communicator_field, size_field, ranks_field, peer_field}) {
    std::uint64_t value = 0;
    if (!row.json.empty() && number_in_json(row.json, std::string("\"").append(field) + "\"", value)) set(field, value);
  }
  if (std::uint64_t value = 0; !row.json.empty() && number_in_json(row.json, "\"Rank\"", value)) set(rank_field, value);
  constexpr std::size_t header = 32;  // u64 domain, schema, payload size, and one of unsure meaning
  if (row.payload.size() < header) return;
  const auto schema = read_at<std::uint64_t>(row.payload, 8);
  const auto size = read_at<std::uint64_t>(row.payload, 16);
  if (size > row.payload.size() - header) return;
  const auto payload = row.payload.subspan(header, static_cast<std::size_t>(size));
  for (const NsysPayloadField& field : payload_fields_) {
    if (field.schema != schema || field.offset < 0) continue;
    constexpr std::int64_t int32_type = 5;
    const std::size_t width = field.type == int32_type ? 4 : 8;
    const auto offset = static_cast<std::size_t>(field.offset);
    if (offset > payload.size() || payload.size() - offset < width) continue;
    set(field.name, width == 4 ? read_at<std::uint32_t>(payload, offset) : read_at<std::uint64_t>(payload, offset));
  }
}

std::uint32_t NsysBuild::group_row(Process& process, std::uint64_t communicator) {
  std::vector<std::uint64_t>& known = process.group_communicators;
  const auto found = std::find(known.begin(), known.end(), communicator);
  if (found != known.end()) return static_cast<std::uint32_t>(found - known.begin());
  ProcessGroup group;
  if (communicator != 0) group.name = group_name(communicator);
  if (const auto seat = process.seats.find(communicator); seat != process.seats.end()) group.size = seat->second.size;
  process.trace.groups.push_back(std::move(group));
  known.push_back(communicator);
  return static_cast<std::uint32_t>(known.size() - 1);
}

// The message size is what the call was given: one rank's part of all_gather and reduce_scatter, one peer's of
// all_to_all. NVTX does not tell the element type.
void NsysBuild::add_call(Process& process, Collective& into, const Range& call) {
  const CollectiveOp op = op_from_collective_name(text_of(call).substr(4));
  into.group = group_row(process, call.communicator);
  into.group_size = process.trace.groups[into.group].size;
  if (call.peer >= 0 && is_point_to_point(op)) into.peer = peer_at_place(call.peer);
  if (into.op == CollectiveOp::unknown) into.op = op;
  if (call.bytes < 0 || call.bytes > largest_message_bytes) return;
  into.has_arguments = true;
  into.dtype = Dtype::untyped;
  const std::int64_t n = into.group_size;
  const auto add = [](std::int64_t& total, std::int64_t bytes) { total = std::max<std::int64_t>(total, 0) + bytes; };
  switch (op) {
    case CollectiveOp::send: add(into.in_elements, call.bytes); break;
    case CollectiveOp::recv: add(into.out_elements, call.bytes); break;
    case CollectiveOp::all_gather:
      into.in_elements = call.bytes;
      if (n > 0) into.out_elements = call.bytes * n;
      break;
    case CollectiveOp::reduce_scatter:
      into.out_elements = call.bytes;
      if (n > 0) into.in_elements = call.bytes * n;
      break;
    case CollectiveOp::all_to_all:
      if (n > 0) into.in_elements = into.out_elements = call.bytes * n;
      break;
    default: into.in_elements = into.out_elements = call.bytes;
  }
}

// What a kernel of a group of sends and receives is. Only an all-to-all has a message to itself; where peers are not
// told, several of both are one.
void NsysBuild::settle_exchange(Process& process, Collective& into, const std::vector<const Range*>& calls) {
  std::size_t sends = 0, receives = 0;
  bool to_itself = false, peers_known = true;
  const auto seat = process.seats.find(process.group_communicators[into.group]);
  const std::int32_t own = seat == process.seats.end() ? -1 : seat->second.place;
  std::vector<std::int64_t> sent(static_cast<std::size_t>(std::max(into.group_size, 0))), received = sent;
  for (const Range* call : calls) {
    const bool send = text_of(*call) == "ncclSend";
    ++(send ? sends : receives);
    to_itself = to_itself || call->peer == own;
    peers_known = peers_known && own >= 0 && call->peer >= 0 && call->peer < into.group_size && call->bytes >= 0 &&
                  call->bytes <= largest_message_bytes;
    if (peers_known) (send ? sent : received)[static_cast<std::size_t>(call->peer)] += call->bytes;
  }
  if (sends == 1 && receives == 0) into.op = CollectiveOp::send;
  if (receives == 1 && sends == 0) into.op = CollectiveOp::recv;
  if (sends < 2 || receives < 2) return;
  into.peer = -1;
  if (!peers_known && sends == receives) into.op = CollectiveOp::all_to_all;
  if (!peers_known || !to_itself) return;
  into.op = CollectiveOp::all_to_allv;
  std::vector<std::int64_t>& splits = process.trace.splits;
  into.first_split = static_cast<std::uint32_t>(splits.size());
  splits.insert(splits.end(), sent.begin(), sent.end());
  into.first_out_split = static_cast<std::uint32_t>(splits.size());
  splits.insert(splits.end(), received.begin(), received.end());
  into.splits_count = into.out_splits_count = static_cast<std::uint32_t>(sent.size());
}

void NsysBuild::take_seat(Process& process, const Range& range) {
  if (range.comm_size > 0 && range.comm_size <= largest_group && range.comm_rank >= 0 &&
      range.comm_rank < range.comm_size && range.communicator != 0)
    process.seats[range.communicator] = {range.comm_rank, range.comm_size};
}

void NsysBuild::add_collectives(Process& process) {
  RankTrace& trace = process.trace;
  struct Scope {
    std::uint32_t thread;
    std::int64_t start_ns, end_ns;
    std::vector<const Range*> calls;
    std::vector<std::uint32_t> kernels;  // event rows, in launch order
  };
  std::vector<Scope> scopes;
  std::map<std::uint32_t, std::pair<int, std::vector<const Range*>>> open_groups;  // by thread: depth, calls
  for (const Range& range : process.ranges) {
    const std::string_view text = text_of(range);
    if (!text.starts_with("nccl") || text.starts_with("nccl:") || text.starts_with("ncclComm") ||
        range.end_ns == absent_ns)
      continue;
    auto& [depth, calls] = open_groups[range.thread];
    if (text == "ncclGroupStart") {
      ++depth;
    } else if (text == "ncclGroupEnd") {
      if (depth > 0 && --depth > 0) continue;
      scopes.push_back({range.thread, range.start_ns, range.end_ns, std::move(calls), {}});
      calls.clear();
    } else if (depth > 0) {
      calls.push_back(&range);
    } else {
      scopes.push_back({range.thread, range.start_ns, range.end_ns, {&range}, {}});
    }
  }
  std::stable_sort(scopes.begin(), scopes.end(), [](const Scope& a, const Scope& b) {
    return std::pair(a.thread, a.start_ns) < std::pair(b.thread, b.start_ns);
  });
  const EventTable& events = trace.events;
  std::vector<std::uint32_t> rows;
  for (std::size_t i = 0; i < events.size(); ++i)
    if (events.kind[i] == EventKind::communication) rows.push_back(static_cast<std::uint32_t>(i));
  std::stable_sort(rows.begin(), rows.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return events.launch_ns[a] < events.launch_ns[b]; });
  for (const std::uint32_t row : rows) {
    Collective collective;
    collective.event = row;
    collective.group = no_group;
    collective.op = options_.classifier->kernel(trace.strings.text(events.name[row])).op;
    trace.collectives.push_back(collective);
    if (events.launch_ns[row] == absent_ns) continue;
    const std::pair at(events.launch_thread[row], events.launch_ns[row]);
    auto scope = std::upper_bound(scopes.begin(), scopes.end(), at, [](const auto& key, const Scope& s) {
      return key < std::pair(s.thread, s.start_ns);
    });
    if (scope == scopes.begin()) continue;
    --scope;
    if (scope->thread == at.first && at.second < scope->end_ns)
      scope->kernels.push_back(static_cast<std::uint32_t>(trace.collectives.size() - 1));
  }

  for (const auto& [communicator, seat] : process.seats) group_row(process, communicator);
  for (const Scope& scope : scopes) {
    if (scope.kernels.empty() || scope.calls.empty()) continue;
    std::vector<bool> used(scope.calls.size(), false);
    for (const std::uint32_t kernel : scope.kernels) {
      Collective& into = trace.collectives[kernel];
      std::vector<const Range*> exchanged;
      for (std::size_t c = 0; c < scope.calls.size(); ++c) {
        const Range& call = *scope.calls[c];
        const CollectiveOp op = op_from_collective_name(text_of(call).substr(4));
        const bool fits = into.op == CollectiveOp::send_recv ? is_point_to_point(op) || op == CollectiveOp::all_to_all
                                                             : op == into.op || into.op == CollectiveOp::unknown;
        if (used[c] || !fits) continue;
        used[c] = true;
        add_call(process, into, call);
        if (is_point_to_point(op)) exchanged.push_back(&call);
        if (op == CollectiveOp::all_to_all) into.op = op;
        if (into.op != CollectiveOp::send_recv) break;  // one call a kernel; NCCL fuses only point-to-point calls
      }
      if (into.op == CollectiveOp::send_recv && !exchanged.empty()) settle_exchange(process, into, exchanged);
      into.coalesced = exchanged.size() > 1 && into.op == CollectiveOp::send_recv;
    }
  }
  for (Collective& collective : trace.collectives)
    if (collective.group == no_group) collective.group = group_row(process, 0);
  for (const Collective& collective : trace.collectives)
    if (collective.op == CollectiveOp::all_to_all || collective.op == CollectiveOp::all_to_allv)
      trace.groups[collective.group].exchanges = true;
  std::sort(trace.collectives.begin(), trace.collectives.end(),
            [](const Collective& a, const Collective& b) { return a.event < b.event; });
}

}  // namespace ccl
