// Where in a file something was lost, told by the launches around it: where launches and GPU events stand side by side
// (Kineto writes them so), a launch may be lost together with its event, and neither of them shows that. In: launches
// and losses in file order. Out: between which launches something was lost.
#pragma once
#include <cstdint>
#include <vector>

#include "core/bytes.hpp"
#include "core/intervals.hpp"
#include "core/tables.hpp"

namespace ccl {

class LossMarks {
 public:
  /// events_count: complete events of the file so far.
  void launch(std::int64_t start_ns, std::int64_t events_count) {
    if (first_.ns == absent_ns) first_ = {start_ns, events_count};
    last_ = {start_ns, events_count};
    if (!closed_) close(start_ns);
  }
  void lost(std::int64_t events_count) {
    marks_.push_back({events_count, last_.ns, absent_ns});
    closed_ = false;
  }
  /// The part of the file behind this one; events_count: those of this one.
  void absorb(const LossMarks& part, std::int64_t events_count) {
    if (!closed_ && part.first_.ns != absent_ns) close(part.first_.ns);
    for (Mark mark : part.marks_) {
      mark.events_count += events_count;
      if (mark.before_ns == absent_ns) mark.before_ns = last_.ns;
      marks_.push_back(mark);
    }
    if (!part.closed_) closed_ = false;
    if (part.first_.ns == absent_ns) return;
    if (first_.ns == absent_ns) first_ = {part.first_.ns, part.first_.events_count + events_count};
    last_ = {part.last_.ns, part.last_.events_count + events_count};
  }
  /// From the launch before a loss to the one behind it. In front of the first launch and behind the last one only what
  /// lies right beside it counts: far from them are other events.
  std::vector<Interval> between_launches() const;

  void pack(ByteWriter& out) const {
    out.array(marks_);
    out.value(first_);
    out.value(last_);
    out.value(closed_);
  }
  void unpack(ByteReader& in) {
    marks_ = in.array<Mark>();
    first_ = in.value<Launch>();
    last_ = in.value<Launch>();
    closed_ = in.value<bool>();
  }

 private:
  struct Mark {
    std::int64_t events_count = 0, before_ns = absent_ns, after_ns = absent_ns;
  };
  struct Launch {
    std::int64_t ns = absent_ns, events_count = 0;
  };
  void close(std::int64_t after_ns) {
    for (auto mark = marks_.rbegin(); mark != marks_.rend() && mark->after_ns == absent_ns; ++mark) mark->after_ns = after_ns;
    closed_ = true;
  }

  std::vector<Mark> marks_;
  Launch first_, last_;
  bool closed_ = true;  // the launch behind each mark is known
};

}  // namespace ccl
