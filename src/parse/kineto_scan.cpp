#include "parse/kineto_scan.hpp"

#include <algorithm>
#include <cstring>

#include "parse/line_splitter.hpp"
#include "parse/salvage.hpp"

namespace ccl {
namespace {

constexpr std::size_t span_capacity = 4096;
// The events of a piece are looked at while its text is still in the second-level cache.
constexpr std::size_t piece_bytes = std::size_t{128} << 10;
constexpr std::size_t most_damage_rows = 200;
// An event that is longer may have lost a closing brace and be swallowing those behind it.
constexpr std::size_t suspicious_bytes = std::size_t{64} << 10;
// So may a complete one with a second "ph"; shorter ones hold no other event.
constexpr std::size_t roomy_bytes = 512;
constexpr std::size_t gap_bytes = 4;
constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF", events_key = "traceEvents";

/// text: one whole value, or nothing where one should be
JsonValue json_value(std::string_view text) {
  if (text.starts_with('"')) return {JsonType::string, text.substr(1, text.size() - 2)};
  return {text.starts_with('{') ? JsonType::object : text.starts_with('[') ? JsonType::array : JsonType::scalar, text};
}

bool holds_whole_event(std::string_view text, std::size_t begin) {
  return find_next_event(text, begin + 1, true).found == SalvageFound::event;
}

}  // namespace

void add_damaged_range(const DamagedRange& range, std::vector<DamagedRange>& all) {
  if (all.size() < most_damage_rows || all.back().too_large != range.too_large) {
    all.push_back(range);
  } else {
    all.back().count += range.count;
    all.back().end = range.end;
  }
}

KinetoScan::KinetoScan(KinetoBuilder& builder, TraceHeader& header, std::size_t largest_bytes, SplitLevel level)
    : builder_(builder), header_(header), largest_bytes_(largest_bytes), level_(level), spans_(span_capacity) {}

bool KinetoScan::found_events() const { return found_list_ || (bare_list_ && builder_.any_event()); }

void KinetoScan::start_at_event(std::int64_t file_offset) {
  window_offset_ = file_offset;
  found_list_ = true;
  behind_list_ = Place::root;
  start_events(0);
}

bool KinetoScan::ends_at_event(std::string_view window) {
  const std::int64_t lost_before = builder_.trace().lost_events_count;  // what seems damaged may only go on behind it
  window_ = window;
  at_end_ = true;
  scan();
  return place_ == Place::events && behind_list_ == Place::root && !dropping_ && split_.depth == 0 &&
         !split_.in_string && kept_ == window_.size() && builder_.trace().lost_events_count == lost_before;
}

void KinetoScan::scan() {
  Progress progress = Progress::moved;
  while (progress == Progress::moved) {
    switch (place_) {
      case Place::outside: progress = scan_outside(); break;
      case Place::root: progress = scan_root(); break;
      case Place::skipping: progress = skip_value(); break;
      case Place::searching: progress = search_events(); break;
      case Place::events: progress = scan_events(); break;
      case Place::salvaging: progress = salvage(); break;
      case Place::over: at_ = kept_ = window_.size(); progress = Progress::starved; break;
    }
  }
}

std::size_t KinetoScan::consume(std::string_view window, bool at_end) {
  window_ = window;
  at_end_ = at_end;
  scan();
  if (at_end) end_of_text();
  // Salvage looks at what stands before its start, so that much stays: what it finds must not depend on the windows.
  const std::size_t used = kept_ - std::min(kept_, salvage_context_bytes);
  window_offset_ += static_cast<std::int64_t>(used);
  at_ -= used;
  kept_ -= used;
  split_.event_begin = split_.depth > 0 && !dropping_ ? split_.event_begin - static_cast<std::uint32_t>(used) : 0;
  return used;
}

KinetoScan::Progress KinetoScan::scan_outside() {
  if (window_offset_ == 0 && at_ == 0) {
    if (window_.size() < byte_order_mark.size() && !at_end_) return Progress::starved;
    if (window_.starts_with(byte_order_mark)) at_ = byte_order_mark.size();
  }
  while (at_ < window_.size() && (static_cast<unsigned char>(window_[at_]) <= ' ' || window_[at_] == ',')) ++at_;
  kept_ = at_;
  if (at_ == window_.size()) return Progress::starved;
  const char c = window_[at_];
  if (c != '[' && c != '{') return look_for_more_events();
  ++at_;
  if (c == '[') {
    bare_list_ = true;
    behind_list_ = Place::outside;
    start_events(at_);
  } else {
    place_ = Place::root;
  }
  kept_ = at_;
  return Progress::moved;
}

KinetoScan::Progress KinetoScan::scan_root() {
  while (at_ < window_.size() && (static_cast<unsigned char>(window_[at_]) <= ' ' || window_[at_] == ',')) ++at_;
  kept_ = at_;
  if (at_ == window_.size()) return Progress::starved;
  if (window_[at_] == '}') {
    ++at_;
    place_ = Place::outside;
    return Progress::moved;
  }
  if (window_[at_] != '"') {
    place_ = Place::searching;
    return Progress::moved;
  }
  const char* const begin = window_.data();
  const char* const end = begin + window_.size();
  const char* const close = string_end(begin + at_ + 1, end);
  const char* const colon = close == end ? end : skip_space(close + 1, end);
  const char* const value = colon == end ? end : skip_space(colon + 1, end);
  if (colon != end && *colon != ':') {
    place_ = Place::searching;
    return Progress::moved;
  }
  if (value == end) {
    if (window_.size() - at_ > largest_bytes_) place_ = Place::over;
    return place_ == Place::over ? Progress::moved : Progress::starved;
  }
  const std::string_view key(begin + at_ + 1, static_cast<std::size_t>(close - begin) - at_ - 1);
  if (key == "ph" && found_events()) return look_for_more_events();  // a member of an event
  return scan_value(key, at_, static_cast<std::size_t>(value - begin));
}

KinetoScan::Progress KinetoScan::scan_value(std::string_view key, std::size_t key_begin, std::size_t at) {
  if (key == events_key) {
    found_list_ = true;
    if (window_[at] == '[') {
      behind_list_ = Place::root;
      start_events(at + 1);
      return Progress::moved;
    }
  }
  bool too_large = false;
  if (is_header_key(key)) {
    const char* const end = window_.data() + window_.size();
    const char* const behind = value_end(window_.data() + at, end);
    const bool whole = behind != nullptr && (behind != end || at_end_);
    too_large = !whole && window_.size() - key_begin > largest_bytes_;
    if (!whole && !too_large && !at_end_) return Progress::starved;
    too_large = too_large || (whole && behind - window_.data() > static_cast<std::ptrdiff_t>(key_begin + largest_bytes_));
    if (whole && !too_large) {
      at_ = kept_ = static_cast<std::size_t>(behind - window_.data());
      read_header_value(key, json_value(window_.substr(at, at_ - at)), header_);
      return Progress::moved;
    }
  }
  dropping_ = too_large;
  open_damage_ = {offset(key_begin), 0, 1, true};
  place_ = Place::skipping;
  skip_depth_ = 0;
  skip_string_ = skip_escaped_ = skip_started_ = false;
  at_ = kept_ = at;
  return Progress::moved;
}

KinetoScan::Progress KinetoScan::skip_value() {
  for (; at_ < window_.size(); ++at_) {
    const char c = window_[at_];
    if (skip_string_) {
      if (skip_escaped_) {
        skip_escaped_ = false;
      } else if (c == '\\') {
        skip_escaped_ = true;
      } else if (c == '"') {
        skip_string_ = false;
      }
      continue;
    }
    const bool closes = c == '}' || c == ']', space = static_cast<unsigned char>(c) <= ' ';
    if (skip_depth_ == 0 && (closes || c == ',' || (space && skip_started_))) {
      end_dropping(at_);
      place_ = Place::root;
      break;
    }
    skip_started_ = true;
    if (c == '"') {
      skip_string_ = true;
    } else if (c == '{' || c == '[') {
      ++skip_depth_;
    } else if (closes) {
      --skip_depth_;
    }
  }
  kept_ = at_;
  return at_ < window_.size() ? Progress::moved : Progress::starved;
}

KinetoScan::Progress KinetoScan::search_events() {
  if (found_list_) return look_for_more_events();
  constexpr std::string_view quoted = "\"traceEvents\"";
  constexpr std::size_t context = 64;
  for (std::size_t found = window_.find(quoted, at_); found != std::string_view::npos;
       found = window_.find(quoted, found + 1)) {
    // The bracket must come near: how far is looked does not depend on how much text there is.
    const std::size_t behind = found + quoted.size(), near = std::min(window_.size(), behind + context);
    const char* const end = window_.data() + near;
    const char* const colon = skip_space(window_.data() + behind, end);
    const char* const bracket = colon == end ? end : skip_space(colon + 1, end);
    if (bracket == end && near < behind + context && !at_end_) {
      at_ = kept_ = found;
      return Progress::starved;
    }
    if (bracket == end || *colon != ':' || *bracket != '[') continue;
    found_list_ = true;
    behind_list_ = Place::root;
    start_events(static_cast<std::size_t>(bracket + 1 - window_.data()));
    return Progress::moved;
  }
  at_ = kept_ = std::max(at_, window_.size() - std::min(window_.size(), context));
  return Progress::starved;
}

void KinetoScan::start_events(std::size_t at) {
  place_ = Place::events;
  split_ = {};
  suspicious_at_ = suspicious_bytes;
  at_ = kept_ = at;
}

/// Whether whole events stand inside the open one.
bool KinetoScan::swallows_events() {
  const std::size_t open_bytes = at_ - split_.event_begin;
  const bool last = at_end_ && at_ == window_.size();
  if (split_.depth == 0 || dropping_ || (open_bytes < suspicious_at_ && !last)) return false;
  suspicious_at_ = 2 * open_bytes;
  const SalvageFound found = find_next_event(window_.substr(0, at_), split_.event_begin + 1, last).found;
  return found == SalvageFound::event || (last && found == SalvageFound::list_end);
}

KinetoScan::Progress KinetoScan::scan_events() {
  std::size_t piece = piece_bytes;
  while (true) {
    const std::size_t to = std::min(window_.size(), at_ + piece);
    const bool last = at_end_ && to == window_.size();
    const SplitResult found = split_lines(window_.data(), at_, to, last, split_, spans_.data(), spans_.size(), level_);
    const bool moved = found.position > at_;
    at_ = found.position;
    bool list_over = false;
    take_spans(found, list_over);
    const bool open = split_.depth > 0;
    const std::size_t gap_end = open ? split_.event_begin : at_;
    if (!list_over && place_ == Place::events && !dropping_) take_gap(gap_end, list_over);
    if (list_over) {
      place_ = behind_list_;
      return Progress::moved;
    }
    if (place_ != Place::events) return Progress::moved;
    if (found.stop == SplitStop::stray || found.stop == SplitStop::closed) {
      // closed: one brace too many, or the list ends without its bracket; no event is lost
      start_salvage(dropping_ ? at_ : open ? split_.event_begin : kept_, found.stop == SplitStop::closed ? 0 : 1);
      return Progress::moved;
    }
    if (found.stop == SplitStop::full) continue;
    if (swallows_events()) {
      start_salvage(split_.event_begin, 1);
      return Progress::moved;
    }
    if (open && !dropping_ && at_ - split_.event_begin > largest_bytes_) {
      open_damage_ = {offset(split_.event_begin), 0, 1, true};
      dropping_ = true;
    }
    if (dropping_) kept_ = at_;
    if (to == window_.size()) return Progress::starved;
    piece = moved ? piece_bytes : 2 * piece;
  }
}

void KinetoScan::take_spans(const SplitResult& found, bool& list_over) {
  if (found.count > 0) suspicious_at_ = suspicious_bytes;
  for (std::size_t i = 0; i < found.count; ++i) {
    const EventSpan span = spans_[i];
    if (dropping_) {
      end_dropping(span.end);
      kept_ = span.end;
      continue;
    }
    const bool in_lines = i >= found.lines_begin && i < found.lines_end && span.begin == kept_ + gap_bytes;
    if (!in_lines && !take_gap(span.begin, list_over)) return;
    if (span.end - span.begin > largest_bytes_) {
      add_damage({offset(span.begin), offset(span.end), 1, true});
      kept_ = span.end;
      continue;
    }
    const std::string_view event = window_.substr(span.begin, span.end - span.begin);
    const bool roomy = event.size() > roomy_bytes && has_second_phase(event, level_);
    const bool swallows = roomy && holds_whole_event(window_.substr(0, span.end), span.begin);
    if (swallows || !builder_.add(event)) {
      if (swallows || holds_whole_event(window_.substr(0, span.end), span.begin)) return start_salvage(span.begin, 1);
      add_damage({offset(span.begin), offset(span.end), 1, false});
    }
    kept_ = span.end;
  }
}

/// What stands between the last event and `end`: commas and space, null, the end of the list, or damage. False if the
/// scan can not simply go on at `end`; then at_ and place_ say where.
bool KinetoScan::take_gap(std::size_t end, bool& list_over) {
  if (end - kept_ == gap_bytes && std::memcmp(window_.data() + kept_, ",\n  ", gap_bytes) == 0) {  // as Kineto writes it
    kept_ = end;
    return true;
  }
  while (kept_ < end) {
    const char c = window_[kept_];
    if (static_cast<unsigned char>(c) <= ' ' || c == ',') {
      ++kept_;
    } else if (c == ']') {
      at_ = ++kept_;
      list_over = true;
      return false;
    } else if (c == 'n' && std::string_view("null").starts_with(window_.substr(kept_, std::min<std::size_t>(4, end - kept_)))) {
      if (end - kept_ < 4) return true;
      kept_ += 4;
    } else {
      const Junk junk = junk_between_events(window_.substr(kept_), at_end_);
      if (junk.answer == JunkAnswer::damage) return start_salvage(kept_, 1), false;
      if (junk.answer == JunkAnswer::more_text || kept_ + junk.size > end) return true;
      add_damage({offset(kept_), offset(kept_ + junk.size), 1, false});
      kept_ += junk.size;
    }
  }
  return true;
}

/// Behind the list comes what does not belong there: it may have ended by a stray bracket.
KinetoScan::Progress KinetoScan::look_for_more_events() {
  place_ = found_events() ? Place::salvaging : Place::over;
  open_damage_ = {offset(at_), offset(at_), 0, false};
  kept_ = at_;
  return Progress::moved;
}

/// What is too large ends at `end` of the window.
void KinetoScan::end_dropping(std::size_t end) {
  if (!dropping_) return;
  dropping_ = false;
  open_damage_.end = offset(end);
  add_damage(open_damage_);
}

void KinetoScan::start_salvage(std::size_t begin, std::int64_t count) {
  end_dropping(begin);
  place_ = Place::salvaging;
  open_damage_ = {offset(begin), offset(begin), count, false};
  at_ = kept_ = begin + 1;
}

KinetoScan::Progress KinetoScan::salvage() {
  const Salvage found = find_next_event(window_, at_, at_end_);
  open_damage_.count += found.damaged_count;
  at_ = kept_ = found.position;
  if (found.found == SalvageFound::more_text) {
    open_damage_.end = offset(window_.size());
    if (at_end_ && open_damage_.count > 0) add_damage(open_damage_);
    if (at_end_ && open_damage_.count == 0) place_ = Place::over;
    if (!at_end_ && window_.size() - at_ > largest_bytes_) ++at_;  // a candidate that does not end
    return Progress::starved;
  }
  open_damage_.end = offset(at_);
  // Nothing was lost by a brace too many, but the text is not as it should be.
  if (found.found == SalvageFound::event && open_damage_.count == 0) open_damage_.count = 1;
  if (open_damage_.count > 0) add_damage(open_damage_);
  start_events(at_);
  return Progress::moved;
}

void KinetoScan::add_damage(const DamagedRange& range) {
  builder_.lost(range.count);
  add_damaged_range(range, damage_);
}

void KinetoScan::end_of_text() {
  end_dropping(window_.size());
  cut_ = place_ != Place::outside && place_ != Place::over && place_ != Place::searching;
  at_ = kept_ = window_.size();
}

}  // namespace ccl
