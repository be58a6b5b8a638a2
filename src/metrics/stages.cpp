#include "metrics/stages.hpp"

#include <algorithm>
#include <charconv>
#include <map>

#include "metrics/busy.hpp"

namespace ccl {
namespace {

bool to_integer(std::string_view text, std::int64_t& value) {
  const auto [stop, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  return failed == std::errc() && stop == text.data() + text.size();
}

Interval capture(const RankTrace& trace) {
  Interval all{absent_ns, absent_ns};
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    if (all.start_ns == absent_ns || trace.events.start_ns[i] < all.start_ns) all.start_ns = trace.events.start_ns[i];
    all.end_ns = std::max(all.end_ns, trace.events.end_ns(i));
  }
  return all;
}

bool middle_chunk(const RankTrace& trace, const Classifier& classifier, StageWindow& out) {
  std::vector<bool> asked(trace.strings.size()), marks(trace.strings.size());
  std::vector<std::tuple<std::int64_t, std::int64_t, std::uint32_t>> chunks;
  for (const CpuSlice& slice : trace.slices) {
    if (!asked[slice.name]) marks[slice.name] = classifier.marks_steady_state(trace.strings.text(slice.name));
    asked[slice.name] = true;
    if (marks[slice.name]) chunks.emplace_back(slice.start_ns, slice.end_ns, slice.name);
  }
  // A range may stand on several threads of the process.
  std::sort(chunks.begin(), chunks.end());
  chunks.erase(std::unique(chunks.begin(), chunks.end()), chunks.end());
  if (chunks.empty()) return false;
  const auto& [start, end, name] = chunks[chunks.size() / 2];
  out = {{start, end}, "chunk", std::string(trace.strings.text(name)), static_cast<std::int64_t>(chunks.size())};
  return true;
}

bool middle_step(const RankTrace& trace, StageWindow& out) {
  std::vector<const Step*> steps;
  for (const Step& step : trace.steps)
    if (step.source == StepSource::marker && gpu_window(step).start_ns != absent_ns) steps.push_back(&step);
  if (steps.empty()) return false;
  const Step& step = *steps[steps.size() / 2];
  out = {gpu_window(step), "step", "step " + std::to_string(step.number), static_cast<std::int64_t>(steps.size())};
  return true;
}

/// Time that --start or --end stands for; absent if the trace has no such chunk or step.
std::int64_t edge(const RankTrace& trace, const Classifier& classifier, const std::string& text, bool start) {
  StageWindow found;
  std::int64_t number = 0;
  if (text == "chunk") {
    if (!middle_chunk(trace, classifier, found)) return absent_ns;
    return start ? found.time.start_ns : found.time.end_ns;
  }
  if (text.starts_with("step:") && to_integer(std::string_view(text).substr(5), number)) {
    for (const Step& step : trace.steps)
      if (step.number == number) return start ? gpu_window(step).start_ns : gpu_window(step).end_ns;
    return absent_ns;
  }
  const Interval all = capture(trace);
  if (text.empty()) return start ? all.start_ns : all.end_ns;
  return to_integer(text, number) && all.start_ns != absent_ns ? all.start_ns + number : absent_ns;
}

}  // namespace

bool is_window_edge(const std::string& text) {
  std::int64_t number = 0;
  return text == "chunk" || (text.starts_with("step:") && to_integer(std::string_view(text).substr(5), number)) ||
         (to_integer(text, number) && number >= 0 && number < std::int64_t{1} << 60);
}

StageWindow stage_window(const RankTrace& trace, const Config& config, const Classifier& classifier) {
  StageWindow out;
  if (!config.window_start.empty() || !config.window_end.empty()) {
    out = {{edge(trace, classifier, config.window_start, true), edge(trace, classifier, config.window_end, false)},
           "user",
           (config.window_start.empty() ? "first event" : config.window_start) + " to " +
               (config.window_end.empty() ? "last event" : config.window_end)};
    if (out.time.start_ns == absent_ns || out.time.end_ns < out.time.start_ns) out.time = {absent_ns, absent_ns};
    return out;
  }
  if (middle_chunk(trace, classifier, out) || middle_step(trace, out)) return out;
  return {capture(trace), "capture", "first to last GPU event"};
}

StageOfEvent::StageOfEvent(const RankTrace& trace, const Classifier& classifier)
    : stages_(1), of_event_(trace.events.size()) {
  std::map<std::string, std::uint32_t, std::less<>> numbers{{"", 0}};
  std::vector<std::int64_t> by_name(trace.strings.size(), -1);
  for (const CpuSlice& slice : trace.slices) {
    std::int64_t& number = by_name[slice.name];
    if (number >= 0) continue;
    const std::string stage(classifier.stage(trace.strings.text(slice.name)));
    const auto [at, added] = numbers.emplace(stage, static_cast<std::uint32_t>(stages_.size()));
    if (added) stages_.push_back(stage);
    number = at->second;
  }
  if (!any()) return;
  const LaunchContext launches = launch_context(trace);
  for (std::size_t i = 0; i < of_event_.size(); ++i) {
    const std::int32_t slice =
        launches.find(trace, i, [&](const CpuSlice& around) { return by_name[around.name] != 0; });
    if (slice >= 0)
      of_event_[i] = static_cast<std::uint32_t>(by_name[trace.slices[static_cast<std::size_t>(slice)].name]);
  }
}

WindowKernels window_kernels(const RankTrace& trace, std::int32_t device, Interval window) {
  WindowKernels out;
  out.compute_lane.resize(trace.lanes.size());
  const EventTable& events = trace.events;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const bool communicates = events.kind[i] == EventKind::communication;
    if ((!communicates && events.kind[i] != EventKind::compute) || trace.lanes[events.lane[i]].device != device ||
        events.start_ns[i] < window.start_ns || events.end_ns(i) > window.end_ns)
      continue;
    (communicates ? out.communication : out.compute).push_back(i);
    if (!communicates) out.compute_lane[events.lane[i]] = true;
  }
  return out;
}

std::int64_t process_of(const RankTrace& trace) {
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    if (trace.events.launch_ns[i] == absent_ns) continue;
    const std::string& thread = trace.threads[trace.events.launch_thread[i]];
    std::int64_t pid = -1;
    to_integer(std::string_view(thread).substr(0, thread.find('/')), pid);
    return pid;
  }
  return -1;
}

SetupLabel setup_label(const RankTrace& trace) {
  SetupLabel label;
  for (const CpuSlice& slice : trace.slices) {
    std::string_view text = trace.strings.text(slice.name);
    if (!text.starts_with("rank=")) continue;
    label.found = true;
    const auto place = [&](std::string_view value, std::int32_t& at, std::int32_t& size) {
      const char* end = value.data() + value.size();
      const auto first = std::from_chars(value.data(), end, at);
      if (first.ec == std::errc() && first.ptr != end && *first.ptr == '/') std::from_chars(first.ptr + 1, end, size);
    };
    while (!text.empty()) {
      const std::string_view token = text.substr(0, text.find_first_of(" ;"));
      text.remove_prefix(std::min(text.size(), token.size() + 1));
      const std::size_t equals = token.find('=');
      if (equals == std::string_view::npos) continue;
      const std::string_view key = token.substr(0, equals), value = token.substr(equals + 1);
      if (key == "pp") place(value, label.pp, label.pp_size);
      if (key == "dp") place(value, label.dp, label.dp_size);
      if (key == "cp") place(value, label.cp, label.cp_size);
      if (key == "ep") place(value, label.ep, label.ep_size);
      if (key == "mbs") to_integer(value, label.micro_batch_size);
      if (key == "seq") to_integer(value, label.sequence_length);
    }
    return label;
  }
  return label;
}

}  // namespace ccl
