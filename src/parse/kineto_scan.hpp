// The outer shape of a Kineto file, window by window: an object with traceEvents anywhere in it, or a bare list of
// events; several documents behind one another are one trace. In: windows of text. Out: each complete event to the
// builder, header values to the TraceHeader. State is carried over the windows; damage is passed over and noted.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "parse/event_splitter.hpp"
#include "parse/kineto_build.hpp"
#include "parse/kineto_header.hpp"

namespace ccl {

/// Events of [begin, end) of the decompressed file that were left out.
struct DamagedRange {
  std::int64_t begin = 0, end = 0, count = 0;
  bool too_large = false;  // else: not JSON
};
/// The first ranges one by one, what is behind them as one.
void add_damaged_range(const DamagedRange& range, std::vector<DamagedRange>& all);

class KinetoScan {
 public:
  /// largest_bytes: an event or header value longer than that is passed over.
  KinetoScan(KinetoBuilder& builder, TraceHeader& header, std::size_t largest_bytes, SplitLevel level);

  /// Takes what is complete in the window, which starts with the bytes not used of the window before. Returns the
  /// number of bytes used. at_end: there is no more text.
  std::size_t consume(std::string_view window, bool at_end);

  // Parts of a file. A part that starts where an event does goes on exactly as a scan of the whole file does there.
  /// Instead of the beginning: an event of the list of a document starts at this offset of the file.
  void start_at_event(std::int64_t file_offset);
  /// Instead of the last consume(): whether the next event of that list starts right behind this window.
  bool ends_at_event(std::string_view window);

  /// After the end: whether it came before a closing bracket.
  bool cut() const { return cut_; }
  /// Whether there is a list of events at all.
  bool found_events() const;
  const std::vector<DamagedRange>& damage() const { return damage_; }

 private:
  enum class Place : std::uint8_t {
    outside,    // before, between and behind documents
    root,       // among the members of a document
    skipping,   // in a value that is not wanted
    searching,  // the root is damaged: for the key traceEvents
    events,
    salvaging,  // behind a damaged event
    over        // nothing that follows is looked at
  };
  enum class Progress : std::uint8_t { moved, starved };

  void scan();
  Progress scan_outside();
  Progress scan_root();
  Progress scan_value(std::string_view key, std::size_t key_begin, std::size_t at);
  Progress skip_value();
  Progress search_events();
  Progress scan_events();
  Progress salvage();
  void take_spans(const SplitResult& found, bool& list_over);
  bool take_gap(std::size_t end, bool& list_over);
  void start_events(std::size_t at);
  bool swallows_events();
  Progress look_for_more_events();
  void end_dropping(std::size_t end);
  void start_salvage(std::size_t begin, std::int64_t count);
  void add_damage(const DamagedRange& range);
  void end_of_text();
  std::int64_t offset(std::size_t at) const { return window_offset_ + static_cast<std::int64_t>(at); }

  KinetoBuilder& builder_;
  TraceHeader& header_;
  std::size_t largest_bytes_;
  SplitLevel level_;

  std::string_view window_;
  bool at_end_ = false;
  std::int64_t window_offset_ = 0;

  Place place_ = Place::outside, behind_list_ = Place::outside;
  std::size_t at_ = 0;    // first byte of the window not looked at
  std::size_t kept_ = 0;  // first byte still needed, ≤ at_
  bool bare_list_ = false, found_list_ = false, cut_ = false;

  // events
  SplitState split_;
  std::vector<EventSpan> spans_;
  std::size_t suspicious_at_ = 0;  // length of the open event that is next looked into
  bool dropping_ = false;  // the open event or header value is too large: its first part is gone
  // skipping
  std::int32_t skip_depth_ = 0;
  bool skip_string_ = false, skip_escaped_ = false, skip_started_ = false;
  DamagedRange open_damage_;  // while salvaging or dropping
  std::vector<DamagedRange> damage_;
};

}  // namespace ccl
