#include "parse/loss_marks.hpp"

namespace ccl {
namespace {

constexpr std::int64_t near_events = 16;

}  // namespace

std::vector<Interval> LossMarks::between_launches() const {
  std::vector<Interval> all;
  for (const Mark& mark : marks_) {
    const bool in_front = mark.before_ns == absent_ns, behind = mark.after_ns == absent_ns;
    if (in_front && (behind || first_.events_count - mark.events_count > near_events)) continue;
    if (behind && mark.events_count - last_.events_count > near_events) continue;
    const Interval lost{in_front ? INT64_MIN : mark.before_ns, behind ? INT64_MAX : mark.after_ns};
    if (lost.start_ns <= lost.end_ns) all.push_back(lost);
  }
  return all;
}

}  // namespace ccl
