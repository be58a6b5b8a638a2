#include "nsys_nccl.hpp"

#include <algorithm>
#include <array>

#include "messages.hpp"
#include "random.hpp"

namespace synth {
namespace {

constexpr std::int64_t first_schema = std::int64_t{1} << 24;
enum Schema {
  all_gather_schema = 4,
  all_reduce_schema = 5,
  reduce_scatter_schema = 7,
  send_schema = 9,
  recv_schema = 10,
  init_schema = 11
};
constexpr std::int64_t int32_type = 5, uint64_type = 18, size_type = 22;

template <class Value>
void append(SqlBlob& blob, Value value) {
  for (std::size_t i = 0; i < sizeof value; ++i)
    blob.push_back(static_cast<unsigned char>(static_cast<std::uint64_t>(value) >> (8 * i)));
}

/// nsys puts 32 bytes before the payload: domain, schema, payload size, total size.
SqlBlob with_header(std::int64_t schema, const SqlBlob& payload) {
  SqlBlob blob;
  append(blob, nccl_domain);
  append(blob, first_schema + schema);
  append(blob, static_cast<std::int64_t>(payload.size()));
  append(blob, static_cast<std::int64_t>(payload.size() + 32));
  blob.insert(blob.end(), payload.begin(), payload.end());
  return blob;
}

struct Field {
  const char* name;
  std::int64_t type, offset;
};

std::array<Field, 4> fields_of(int schema) {
  if (schema == init_schema)
    return {{{"NCCL communicator ID", uint64_type, 0},
             {"No. of ranks", int32_type, 8},
             {"Rank", int32_type, 12},
             {"CUDA device", int32_type, 16}}};
  const char* last = schema == send_schema || schema == recv_schema ? "Peer rank" : "Reduction operation";
  return {{{"NCCL communicator ID", uint64_type, 0},
           {"Message size [bytes]", size_type, 8},
           {schema == all_gather_schema ? nullptr : last, int32_type, 16},
           {nullptr, 0, 0}}};
}

}  // namespace

void describe_nccl(NsysDatabase& database, std::int64_t thread, std::int64_t start) {
  database.insert("NVTX_EVENTS", "start, eventType, text, globalTid, domainId",
                  {start, std::int64_t{75}, std::string_view("NCCL"), thread, nccl_domain});
  for (const int schema : {4, 5, 7, 9, 10, 11}) {
    std::int64_t count = 0;
    for (const Field& field : fields_of(schema)) {
      if (!field.name) continue;
      const SqlCell offset = field.offset == 0 ? SqlCell() : SqlCell(field.offset);  // NULL stands for 0
      database.insert("NVTX_PAYLOAD_SCHEMA_ENTRIES", "domainId, schemaId, idx, type, name, offset",
                      {nccl_domain, first_schema + schema, count++, field.type, std::string_view(field.name), offset});
    }
    database.insert("NVTX_PAYLOAD_SCHEMAS", "domainId, schemaId, type, numEntries, payloadSize",
                    {nccl_domain, first_schema + schema, std::int64_t{1}, count,
                     std::int64_t{schema == all_gather_schema ? 16 : 24}});
  }
}

std::int64_t NcclRanges::communicator(int group) const { return static_cast<std::int64_t>(draw(job_.seed, 51, group)); }

void NcclRanges::range(const char* text, std::int64_t thread, std::int64_t start, std::int64_t end,
                       const SqlBlob* payload) {
  database_.insert("NVTX_EVENTS", "start, end, eventType, globalTid, textId, domainId, binaryData",
                   {start, end, std::int64_t{59}, thread, database_.string_id(text), nccl_domain, payload});
}

void NcclRanges::message(const char* text, int schema, int group, std::int64_t bytes, int last, std::int64_t thread,
                         std::int64_t start, std::int64_t end) {
  SqlBlob payload;
  append(payload, communicator(group));
  append(payload, bytes);
  if (schema != all_gather_schema) append(payload, last), append(payload, 0);
  const SqlBlob blob = with_header(schema, payload);
  range(text, thread, start, end, &blob);
}

void NcclRanges::initialise(std::int64_t thread, std::int64_t start, std::int64_t end) {
  constexpr int world = -1;
  std::vector<int> groups{world};
  for (const int channel : topology_.channel_of[static_cast<std::size_t>(rank_)])
    if (channel >= 0) groups.push_back(topology_.channels[static_cast<std::size_t>(channel)].group);
  std::sort(groups.begin(), groups.end());
  groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
  const std::int64_t share = (end - start) / static_cast<std::int64_t>(groups.size() + 1);
  for (const int g : groups) {
    auto count = static_cast<std::int32_t>(job_.mesh.world()), position = std::int32_t{rank_};
    if (g != world) {
      const auto& members = topology_.groups[static_cast<std::size_t>(g)].members;
      count = static_cast<std::int32_t>(members.size());
      position = static_cast<std::int32_t>(std::find(members.begin(), members.end(), rank_) - members.begin());
    }
    SqlBlob payload;
    append(payload, communicator(g));
    append(payload, count);
    append(payload, position);
    append(payload, std::int32_t{rank_ % job_.ranks_per_host});
    append(payload, std::int32_t{0});
    const SqlBlob blob = with_header(init_schema, payload);
    range("ncclCommInitRankConfig", thread, start, start + share * 3 / 4, &blob);
    start += share;
  }
}

void NcclRanges::call(const Op& op, std::int64_t thread, std::int64_t start, std::int64_t end) {
  const Instance& instance = run_.instances[static_cast<std::size_t>(op.instance)];
  const Channel& channel = topology_.channels[static_cast<std::size_t>(instance.channel)];
  const auto& members = topology_.groups[static_cast<std::size_t>(channel.group)].members;
  const auto position = [&](int rank) {
    return static_cast<int>(std::find(members.begin(), members.end(), rank) - members.begin());
  };
  const auto count = static_cast<int>(members.size());
  const Volume volume = volume_of(job_, instance, count, op.collective, position(rank_));
  const auto one = [&](const char* text, int schema, std::int64_t bytes, int last) {
    message(text, schema, channel.group, bytes, last, thread, start, end);
  };
  switch (op.collective) {
    case Collective::all_reduce: return one("ncclAllReduce", all_reduce_schema, volume.in_bytes, 0);
    case Collective::all_gather: return one("ncclAllGather", all_gather_schema, volume.in_bytes, 0);
    case Collective::reduce_scatter: return one("ncclReduceScatter", reduce_scatter_schema, volume.out_bytes, 0);
    case Collective::send: return one("ncclSend", send_schema, volume.in_bytes, position(channel.destination));
    case Collective::recv: return one("ncclRecv", recv_schema, volume.out_bytes, position(channel.source));
    case Collective::all_to_allv: break;
  }
  // Made of a group of sends and receives; the kernel is launched when the group ends.
  const std::int64_t row = instance.row_elements * size_of(instance.type),
                     part = (op.launch - op.cpu_start) / (4 * count + 8);
  const auto sent = rows_sent(job_, instance, count, position(rank_));
  const auto received = rows_received(job_, instance, count, position(rank_));
  std::int64_t at = start;
  range("ncclGroupStart", thread, at, at + part, nullptr);
  for (int peer = 0; peer < count; ++peer) {
    at += 2 * part;
    const auto p = static_cast<std::size_t>(peer);
    message("ncclSend", send_schema, channel.group, sent[p] * row, peer, thread, at, at + part / 2);
    message("ncclRecv", recv_schema, channel.group, received[p] * row, peer, thread, at + part, at + part + part / 2);
  }
  range("ncclGroupEnd", thread, at + 2 * part, end, nullptr);
}

}  // namespace synth
