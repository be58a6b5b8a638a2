#include "parse/kineto_parcels.hpp"

#include <algorithm>

#include "parse/packed_numbers.hpp"

namespace ccl {
namespace {

constexpr std::size_t events_in_parcel = std::size_t{1} << 13;  // about 200 KB, which stay in the cache of both ends

template <class Texts>
void pack(const Texts& texts, ByteWriter& out) {
  out.value<std::uint64_t>(texts.size());
  for (const auto& text : texts) out.text(text);
}

void pack(const StringTable& strings, ByteWriter& out) {
  out.value<std::uint64_t>(strings.size());
  for (std::uint32_t i = 0; i < strings.size(); ++i) out.text(strings.text(i));
}

template <class Use>
void unpack_texts(ByteReader& in, Use use) {
  for (auto left = in.value<std::uint64_t>(); left > 0; --left) use(in.text());
}

/// The first parcel of a part.
Bytes pack_first(const KinetoPart& part, std::uint64_t parcels_count) {
  ByteWriter out;
  out.value(part.usable);
  out.value(part.reaches_end);
  out.value(part.is_last);
  out.value(parcels_count);
  out.value(part.scan.text_bytes);
  out.value(part.scan.cut);
  out.value(part.scan.ends_at_event);
  out.array(part.scan.damage);
  out.value<std::uint64_t>(part.header.size());
  for (const TraceHeader::Said& said : part.header) {
    out.text(said.key);
    out.text(said.text);
    out.value(said.type);
  }
  if (part.usable) out.array(part.builder->pack_tables());
  return out.take();
}

/// The number of parcels that follow.
std::uint64_t unpack_first(const Bytes& bytes, KinetoPart& part) {
  ByteReader in(bytes);
  part.usable = in.value<bool>();
  part.reaches_end = in.value<bool>();
  part.is_last = in.value<bool>();
  const auto parcels_count = in.value<std::uint64_t>();
  part.scan.text_bytes = in.value<std::int64_t>();
  part.scan.cut = in.value<bool>();
  part.scan.ends_at_event = in.value<bool>();
  part.scan.damage = in.array<DamagedRange>();
  part.header.resize(in.value<std::uint64_t>());
  for (TraceHeader::Said& said : part.header) {
    said.key = in.text();
    said.text = in.text();
    said.type = in.value<JsonType>();
  }
  if (!part.usable) return parcels_count;
  const Bytes tables = in.array<std::byte>();
  ByteReader in_tables(tables);
  part.builder->unpack_tables(in_tables);
  return parcels_count;
}

}  // namespace

Bytes KinetoBuilder::pack_tables() const {
  ByteWriter out;
  pack(trace_.strings, out);
  pack(raw_names_, out);
  pack(thread_keys(), out);
  out.array(trace_.lanes);
  out.value<std::uint64_t>(trace_.steps.size());
  for (const Step& step : trace_.steps) {
    out.value(step.number);
    out.value(step.start_ns);
    out.value(step.end_ns);
  }
  out.array(trace_.memory_operations.span());
  out.array(trace_.kernel_shapes.span());
  out.array(trace_.memory_usage.span());
  trace_.slices.pack(out);
  out.array(operators_.span());
  out.array(trace_.collectives.span());
  out.array(trace_.splits);
  communication_.pack(trace_, out);
  out.value(trace_.events_count);
  out.value(trace_.lost_events_count);
  out.value(trace_.launches_count);
  out.value(counts_);
  out.value(recorded_);
  out.value(any_event_);
  marks_.pack(out);
  return out.take();
}

void KinetoBuilder::unpack_tables(ByteReader& in) {
  unpack_texts(in, [&](const std::string& text) { trace_.strings.index(text); });
  unpack_texts(in, [&](const std::string& text) { raw_names_.index(text); });
  unpack_texts(in, [&](std::string text) { threads_.emplace(std::move(text), static_cast<std::uint32_t>(threads_.size())); });
  trace_.lanes = in.array<Lane>();
  for (auto left = in.value<std::uint64_t>(); left > 0; --left) {
    Step& step = trace_.steps.emplace_back();
    step.number = in.value<std::int64_t>();
    step.start_ns = in.value<std::int64_t>();
    step.end_ns = in.value<std::int64_t>();
  }
  in.add_to(trace_.memory_operations);
  in.add_to(trace_.kernel_shapes);
  in.add_to(trace_.memory_usage);
  trace_.slices = CpuSlices::unpack(in);
  in.add_to(operators_);
  in.add_to(trace_.collectives);
  trace_.splits = in.array<std::int64_t>();
  communication_.unpack(in, trace_);
  trace_.events_count = in.value<std::int64_t>();
  trace_.lost_events_count = in.value<std::int64_t>();
  trace_.launches_count = in.value<std::int64_t>();
  counts_ = in.value<Counts>();
  recorded_ = in.value<Interval>();
  any_event_ = in.value<bool>();
  marks_.unpack(in);
}

std::size_t KinetoBuilder::parcels_count() const {
  return (trace_.events.size() + events_in_parcel - 1) / events_in_parcel + 1;
}

Bytes KinetoBuilder::pack_events(std::size_t parcel) const {
  const EventTable& events = trace_.events;
  const std::size_t first = std::min(parcel * events_in_parcel, events.size());
  const std::size_t count = std::min(events_in_parcel, events.size() - first);
  ByteWriter out;
  out.value<std::uint64_t>(count);
  pack_differences(count, [&](std::size_t i) { return events.start_ns[first + i]; }, out);
  pack_differences(count, [&](std::size_t i) { return events.correlation[first + i]; }, out);
  pack_numbers(count, [&](std::size_t i) { return static_cast<std::uint64_t>(events.dur_ns[first + i]); }, out);
  pack_numbers(count, [&](std::size_t i) { return std::uint64_t{events.name[first + i]}; }, out);
  pack_numbers(count, [&](std::size_t i) { return std::uint64_t{events.lane[first + i]}; }, out);
  pack_numbers(count, [&](std::size_t i) { return static_cast<std::uint64_t>(events.kind[first + i]); }, out);
  launches_.pack(events, first, parcel + 1 == parcels_count() ? SIZE_MAX : first + count, out);
  return out.take();
}

void KinetoBuilder::unpack_events(ByteReader& in) {
  EventTable& events = trace_.events;
  const auto count = in.value<std::uint64_t>();
  const auto differences = [&](Column<std::int64_t>& to) {
    unpack_differences(in, [rows = to.add_rows(count)](std::size_t i, std::int64_t value) { rows[i] = value; });
  };
  const auto numbers = [&]<class Number>(Column<Number>& to) {
    unpack_numbers(in, [rows = to.add_rows(count)](std::size_t i, std::uint64_t value) { rows[i] = static_cast<Number>(value); });
  };
  differences(events.start_ns);
  differences(events.correlation);
  numbers(events.dur_ns);
  numbers(events.name);
  numbers(events.lane);
  numbers(events.kind);
  launches_.unpack(in, events);
}

PartSender::~PartSender() {
  try {
    if (!last_told_) parts_.give({});
  } catch (const FatalError&) {
    // The connection is gone, and with it who waits.
  }
}

OwnedPart PartSender::give(OwnedPart part) {
  std::uint64_t owed = part->usable ? part->builder->parcels_count() : 0;
  Bytes first = pack_first(*part, owed);
  last_told_ = part->is_last;
  parts_.give(std::move(first));
  try {
    for (std::size_t parcel = 0; owed > 0; ++parcel) {
      Bytes events = part->builder->pack_events(parcel);
      --owed;
      parts_.give(std::move(events));
    }
  } catch (const std::bad_alloc&) {
    for (; owed > 0; --owed) parts_.give({});
    throw;
  }
  return part->is_last ? nullptr : std::move(part);
}

PartReceiver::~PartReceiver() {
  try {
    finish_part();
    for (std::size_t reader = 1; reader < over_.size(); ++reader)
      while (!over_[reader]) take(static_cast<int>(reader));
  } catch (const FatalError&) {
    // The connection is gone, and with it who waits.
  }
}

void PartReceiver::skip(const std::vector<int>& readers) {
  for (const int reader : readers) over_[static_cast<std::size_t>(reader)] = true;
}

OwnedPart PartReceiver::take(int reader) {
  finish_part();
  const auto of_reader = static_cast<std::size_t>(reader);
  if (over_[of_reader]) return nullptr;
  OwnedPart part = spare_ ? std::move(spare_) : std::make_unique<KinetoPart>();
  part->start(options_);
  // What broke down on its way is empty, and nothing comes behind an empty first parcel.
  const Bytes first = options_.parts->take(reader);
  over_[of_reader] = first.empty();
  if (first.empty()) return nullptr;
  reader_ = reader;
  left_ = unpack_first(first, *part);
  over_[of_reader] = part->is_last;
  while (left_ > 0) {
    const Bytes parcel = take_parcel();
    if (parcel.empty()) return nullptr;
    ByteReader events(parcel);
    part->builder->unpack_events(events);
  }
  return part;
}

Bytes PartReceiver::take_parcel() {
  --left_;
  return options_.parts->take(reader_);
}

void PartReceiver::finish_part() {
  while (left_ > 0) take_parcel();
}

void PartReceiver::give_back(int /*reader*/, OwnedPart part) { spare_ = std::move(part); }

}  // namespace ccl
