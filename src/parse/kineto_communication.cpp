#include "parse/kineto_communication.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <tuple>

#include "core/collective_math.hpp"
#include "core/shares.hpp"
#include "parse/decimal.hpp"

namespace ccl {
namespace {

// Above, bytes would leave 64 bits. So many are told of and forgotten by forget_impossible_sizes().
constexpr std::int64_t most_elements = std::int64_t{1} << 56;

std::int64_t elements(std::int64_t number) { return number < 0 ? -1 : std::min(number, most_elements); }

std::int32_t rank_number(std::int64_t number) {
  return number < 0 || number > INT32_MAX ? -1 : static_cast<std::int32_t>(number);
}

bool says_coalesced(std::string_view text) { return text.find("coalesced") != std::string_view::npos; }

bool is_unclear(CollectiveOp op) { return op == CollectiveOp::unknown || op == CollectiveOp::send_recv; }

/// "send 0->1", "recv 1<-0": PyTorch writes the places of both in their group, its own first. −1: not of that form.
std::int32_t peer_place(std::string_view name) {
  for (const std::string_view arrow : {"->", "<-"}) {
    const auto at = name.find(arrow);
    if (at == std::string_view::npos) continue;
    const std::string_view digits = name.substr(at + arrow.size());
    std::int32_t place = -1;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), place);
    return error == std::errc() && end == digits.data() + digits.size() && place >= 0 ? place : -1;
  }
  return -1;
}

std::pair<std::uint32_t, std::uint32_t> add_splits(const JsonValue& value, std::vector<std::int64_t>& splits, bool& cut) {
  const NumberList list = read_number_list(value);
  cut = cut || list.cut;
  const auto first = static_cast<std::uint32_t>(splits.size());
  splits.insert(splits.end(), list.numbers.begin(), list.numbers.end());
  return {first, static_cast<std::uint32_t>(list.numbers.size())};
}

constexpr std::size_t known_slots = 64, most_known_names = 1024;

/// Where the arguments of communication begin in the text of an object; its size if there are none.
std::size_t find_collective(std::string_view text) {
  constexpr std::string_view key = "\"Collective name\"";
  for (std::size_t at = text.find('C'); at != std::string_view::npos; at = text.find('C', at + 1))
    if (at > 0 && text.substr(at - 1).starts_with(key)) return at - 1;
  return text.size();
}

/// By length and a few words of it.
std::size_t slot_of(std::string_view text) {
  std::uint64_t hash = text.size();
  for (const std::size_t at : {std::size_t{24}, std::size_t{48}, std::size_t{64}, text.size() / 2, text.size() - 8}) {
    std::uint64_t word = 0;
    if (at + 8 <= text.size()) std::memcpy(&word, text.data() + at, 8);
    hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
    hash ^= hash >> 29;
  }
  return hash % known_slots;
}

}  // namespace

Collective CommunicationRows::read(const CommunicationArguments& arguments, RankTrace& trace) {
  Collective row;
  row.has_arguments = true;
  row.op = op_from_collective_name(arguments.collective);
  row.dtype = dtype_from_text(arguments.dtype);
  row.coalesced = says_coalesced(arguments.collective);
  row.group_size = rank_number(arguments.group_size);
  row.sequence = arguments.sequence;
  row.in_elements = elements(arguments.in_elements);
  row.out_elements = elements(arguments.out_elements);
  if (row.op == CollectiveOp::send) row.peer = rank_number(arguments.destination);
  if (row.op == CollectiveOp::recv) row.peer = rank_number(arguments.source);
  std::tie(row.first_split, row.splits_count) = add_splits(arguments.in_split, trace.splits, row.splits_cut);
  std::tie(row.first_out_split, row.out_splits_count) = add_splits(arguments.out_split, trace.splits, row.splits_cut);
  return row;
}

const CommunicationRows::KnownTexts::Known* CommunicationRows::KnownTexts::find(std::string_view text) {
  constexpr std::size_t enough = 256;
  if (texts_.empty() || (missed_count_ > enough && missed_count_ > 4 * found_count_)) return nullptr;
  const Known& known = texts_[slot_of(text)];
  const bool same = known.text == text;
  ++(same ? found_count_ : missed_count_);
  return same ? &known : nullptr;
}

void CommunicationRows::KnownTexts::add(std::string_view head, std::string_view text, const Collective& row, bool is_wait,
                                        std::size_t number) {
  const auto says = [](std::string_view part) { return [part](std::string_view key) { return part.find(key) != std::string_view::npos; }; };
  static constexpr std::string_view read_keys[] = {"dtype\"",     "In msg",  "Out msg",   "Group size", "Process Group",
                                                   "split size", "\"Seq\"", "Src Rank", "Dst Rank"};
  if (row.splits_count > 0 || row.out_splits_count > 0 || says(text)("External id") ||
      std::any_of(std::begin(read_keys), std::end(read_keys), says(head)))
    return;
  if (texts_.empty()) texts_.resize(known_slots);
  texts_[slot_of(text)] = {std::string(text), row, is_wait, number};
}

void CommunicationRows::add_kernel(RankTrace& trace, std::uint32_t event, CollectiveOp op_by_name,
                                   std::string_view text, std::int64_t external_id) {
  const std::size_t begin = find_collective(text);
  const KnownTexts::Known* const known = begin == text.size() ? nullptr : kernel_texts_.find(text.substr(begin));
  Collective row;
  if (known != nullptr) {
    row = known->row;
  } else if (const CommunicationArguments arguments = read_communication_arguments(text); arguments.any) {
    row = read(arguments, trace);
    row.group = groups_.row(arguments, trace.groups);
    kernel_texts_.add(text.substr(0, begin), text.substr(begin), row, false);
  } else {
    row.group = groups_.row({}, trace.groups);
    if (external_id >= 0) bare_.push_back({static_cast<std::uint32_t>(trace.collectives.size()), external_id});
  }
  if (row.op == CollectiveOp::unknown) row.op = op_by_name;
  row.event = event;
  trace.collectives.push_back(row);
}

void CommunicationRows::add_record(RankTrace& trace, std::string_view text) {
  const std::size_t begin = find_collective(text);
  if (begin == text.size()) return;
  if (const KnownTexts::Known* const known = record_texts_.find(text.substr(begin)); known != nullptr) {
    const std::int64_t external_id = parse_integer(json_member(text, "External id").text, -1);
    if (external_id >= 0 && !known->is_wait) records_.push_back({external_id, known->number});
    return;
  }
  const CommunicationArguments arguments = read_communication_arguments(text);
  if (!arguments.any) return;
  const bool is_wait = arguments.collective == "wait";
  Collective row;
  if (!is_wait && arguments.external_id >= 0) {
    row = read(arguments, trace);
    row.group = record_group_rows_.row(arguments, record_groups_);
    records_.push_back({arguments.external_id, record_rows_.size()});
    record_rows_.push_back(row);
  }
  if (is_wait || arguments.external_id >= 0)
    record_texts_.add(text.substr(0, begin), text.substr(begin), row, is_wait, record_rows_.size() - 1);
}

void CommunicationRows::add_annotation(std::uint32_t thread, std::int64_t start_ns, std::int64_t end_ns,
                                       std::string_view raw_name) {
  annotations_.push_back({thread, said_by(raw_name), start_ns, end_ns, end_ns});
}

CommunicationRows::Said CommunicationRows::said_by(std::string_view raw_name) {
  if (const auto known = known_names_.find(raw_name); known != known_names_.end()) return known->second;
  const Said said{op_from_collective_name(raw_name), says_coalesced(raw_name), peer_place(raw_name)};
  if (known_names_.size() < most_known_names) known_names_.emplace(raw_name, said);
  return said;
}

void CommunicationRows::take_records(RankTrace& trace) {
  const auto less = [](const Record& a, const Record& b) { return a.external_id < b.external_id; };
  if (!std::is_sorted(records_.begin(), records_.end(), less)) std::stable_sort(records_.begin(), records_.end(), less);
  const auto find = [&](const Record* from, std::int64_t id) {
    return std::lower_bound(from, static_cast<const Record*>(records_.end()), id,
                            [](const Record& r, std::int64_t wanted) { return r.external_id < wanted; });
  };
  constexpr std::uint32_t none = UINT32_MAX;
  std::vector<std::uint32_t> taken(record_groups_.size(), none);
  const Record* record = records_.begin();
  for (const Bare& bare : bare_) {
    // Nearly always behind the one before; of records with the same id the first counts.
    const bool is_next = record != records_.end() && record->external_id < bare.external_id && record + 1 != records_.end() &&
                         (record + 1)->external_id == bare.external_id;
    record = is_next ? record + 1 : find(records_.begin(), bare.external_id);
    if (record == records_.end() || record->external_id != bare.external_id) continue;
    Collective& row = trace.collectives[bare.collective];
    const Collective before = row;
    row = record_rows_[record->row];
    row.event = before.event;
    std::uint32_t& group = taken[row.group];
    if (group == none) {
      group = static_cast<std::uint32_t>(trace.groups.size());
      trace.groups.push_back(record_groups_[row.group]);  // complete_groups unites what is equal
    }
    row.group = group;
    if (row.op == CollectiveOp::unknown) row.op = before.op;
  }
}

const CommunicationRows::Annotation* CommunicationRows::innermost(std::uint32_t thread, std::int64_t time_ns) const {
  const Annotation* after = std::upper_bound(annotations_.begin(), annotations_.end(), std::tuple(thread, time_ns),
                                [](const std::tuple<std::uint32_t, std::int64_t>& key, const Annotation& a) {
                                  return key < std::tuple(a.thread, a.start_ns);
                                });
  while (after != annotations_.begin()) {
    --after;
    if (after->thread != thread || after->reach_ns <= time_ns) return nullptr;
    if (time_ns < after->end_ns) return after;
  }
  return nullptr;
}

void CommunicationRows::sort_annotations() {
  const auto less = [](const Annotation& a, const Annotation& b) {
    return std::tuple(a.thread, a.start_ns, -a.end_ns) < std::tuple(b.thread, b.start_ns, -b.end_ns);
  };
  const auto not_less = [&](const Annotation& a, const Annotation& b) { return !less(a, b); };
  if (std::adjacent_find(annotations_.begin(), annotations_.end(), not_less) != annotations_.end())
    std::sort(annotations_.begin(), annotations_.end(), less);
  for (std::size_t i = 1; i < annotations_.size(); ++i)
    if (annotations_[i].thread == annotations_[i - 1].thread)
      annotations_[i].reach_ns = std::max(annotations_[i].reach_ns, annotations_[i - 1].reach_ns);
}

void CommunicationRows::take_annotation(const EventTable& events, Collective& row) const {
  const std::int64_t launch_ns = events.launch_ns[row.event];
  if (launch_ns == absent_ns) return;
  const Annotation* around = innermost(events.launch_thread[row.event], launch_ns);
  if (around == nullptr) return;
  row.coalesced = row.coalesced || around->said.coalesced;
  if (is_unclear(row.op) && around->said.op != CollectiveOp::unknown) row.op = around->said.op;
  const bool names_peer = row.op == around->said.op && (row.op == CollectiveOp::send || row.op == CollectiveOp::recv);
  if (names_peer && row.peer == -1 && around->said.peer_place >= 0) row.peer = peer_at_place(around->said.peer_place);
}

void CommunicationRows::finish(RankTrace& trace, std::span<const Processors> lent) {
  side_by_side(lent, {[&] { take_records(trace); }, [&] { sort_annotations(); }});
  const std::vector<Share> shares = shares_of(annotations_.empty() ? 0 : trace.collectives.size(), lent);
  for_each_share(shares, lent, [&](std::size_t share) {
    for (std::size_t i = shares[share].begin; i < shares[share].end; ++i) take_annotation(trace.events, trace.collectives[i]);
  });
  // The trace is used while the reader is still there.
  records_ = {};
  bare_ = {};
  annotations_ = {};
}

void CommunicationRows::start_next_part() {
  record_texts_ = {};  // their rows go
  record_rows_.clear();
  records_.clear();
  bare_.clear();
  annotations_.clear();
}

void CommunicationRows::pack(const RankTrace& trace, ByteWriter& out) const {
  groups_.pack(trace.groups, out);
  record_group_rows_.pack(record_groups_, out);
  out.array(record_rows_);
  out.array(records_.span());
  out.array(bare_.span());
  out.array(annotations_.span());
}

void CommunicationRows::unpack(ByteReader& in, RankTrace& trace) {
  groups_.unpack(in, trace.groups);
  record_group_rows_.unpack(in, record_groups_);
  record_rows_ = in.array<Collective>();
  in.add_to(records_);
  in.add_to(bare_);
  in.add_to(annotations_);
}

void CommunicationRows::absorb(const CommunicationRows& part, const RankTrace& of_part, RankTrace& trace,
                               const Place& place) {
  const std::vector<std::uint32_t> groups = groups_.absorb(part.groups_, of_part.groups, trace.groups);
  const std::vector<std::uint32_t> record_groups =
      record_group_rows_.absorb(part.record_group_rows_, part.record_groups_, record_groups_);
  const auto move_splits = [&](Collective& row) {
    row.first_split += static_cast<std::uint32_t>(place.first_split);
    row.first_out_split += static_cast<std::uint32_t>(place.first_split);
  };
  for (std::size_t i = place.first_collective; i < trace.collectives.size(); ++i) {
    move_splits(trace.collectives[i]);
    trace.collectives[i].group = groups[trace.collectives[i].group];
  }
  const std::size_t rows_before = record_rows_.size();
  for (Collective row : part.record_rows_) {
    move_splits(row);
    row.group = record_groups[row.group];
    record_rows_.push_back(row);
  }
  for (const Record& record : part.records_) records_.push_back({record.external_id, rows_before + record.row});
  for (Bare bare : part.bare_) {
    bare.collective += static_cast<std::uint32_t>(place.first_collective);
    bare_.push_back(bare);
  }
  for (Annotation annotation : part.annotations_) {
    annotation.thread = place.threads[annotation.thread];
    annotations_.push_back(annotation);
  }
}

void report_unknown_bytes(const RankTrace& trace, std::span<const Processors> lent, const Problem& origin, Problems& problems) {
  struct Counts {
    std::int64_t odd_type = 0, no_size = 0;
  };
  const std::vector<Counts> of_shares = results_of_shares(trace.collectives.size(), lent, [&](const Share& share) {
    Counts found;
    for (std::size_t i = share.begin; i < share.end; ++i) {
      const Collective& row = trace.collectives[i];
      const bool has_elements = row.in_elements >= 0 || row.out_elements >= 0;
      const bool moves_known_bytes = row.op != CollectiveOp::barrier && row.op != CollectiveOp::dispatch &&
                                     row.op != CollectiveOp::combine;
      if (row.has_arguments && has_elements && element_bytes(row.dtype) == 0)
        ++found.odd_type;
      else if (moves_known_bytes && !has_elements)
        ++found.no_size;
    }
    return found;
  });
  Counts all;
  for (const Counts& found : of_shares) all.odd_type += found.odd_type, all.no_size += found.no_size;
  const auto report = [&](Code code, std::int64_t count) {
    if (count == 0) return;
    Problem problem = origin;
    problem.code = code;
    problem.count = count;
    problems.add(std::move(problem));
  };
  report(Code::unknown_dtype, all.odd_type);
  report(Code::bytes_unknown, all.no_size);
}

}  // namespace ccl
