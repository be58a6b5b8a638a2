#include "discover/sniff.hpp"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <vector>

#include "discover/walk.hpp"
#include "parse/inflate.hpp"

namespace ccl {
namespace {

constexpr std::size_t head_bytes = 64 << 10;

bool starts_with(std::string_view text, std::string_view start) { return text.substr(0, start.size()) == start; }
bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}
bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

/// Keys of the objects at one depth of a JSON text that may end anywhere, up to the first that says all.
std::vector<std::string_view> keys_at_depth(std::string_view text, int wanted, std::string_view says_all) {
  std::vector<std::string_view> keys;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    if (c != '"') continue;
    const std::size_t first = i + 1;
    for (++i; i < text.size() && text[i] != '"'; ++i)
      if (text[i] == '\\') ++i;
    if (depth != wanted || i >= text.size()) continue;
    const std::size_t next = text.find_first_not_of(" \t\r\n", i + 1);
    if (next == std::string_view::npos || text[next] != ':') continue;
    keys.push_back(text.substr(first, i - first));
    if (keys.back() == says_all) break;
  }
  return keys;
}

Sniffed known(TraceFormat format, std::string what) {
  Sniffed found;
  found.format = format;
  found.what = std::move(what);
  return found;
}

/// sentence: where "it is a <what>" does not say it.
Sniffed no_trace(Other other, std::string what, std::string sentence = "") {
  Sniffed found;
  found.other = other;
  found.sentence = sentence.empty() ? "it is a " + what : std::move(sentence);
  found.what = std::move(what);
  return found;
}

Sniffed packed(std::string what, const std::string& unpacked_with) {
  Sniffed found = no_trace(Other::packed, std::move(what));
  found.advice = "unpack it with " + unpacked_with;
  return found;
}

/// Whether a text that opens with a bracket goes on as JSON does: "[model]" is a section of a TOML.
bool begins_as_json(std::string_view text) {
  const bool object = text.front() == '{';
  while (!text.empty() && text.front() == '[') text.remove_prefix(std::min(text.size(), text.find_first_not_of(" \t\r\n", 1)));
  if (object) text.remove_prefix(std::min(text.size(), text.find_first_not_of(" \t\r\n", 1)));
  if (text.empty()) return true;
  if (object) return contains("\"}", text.substr(0, 1));
  return contains("{\"]-0123456789", text.substr(0, 1)) || starts_with(text, "null") || starts_with(text, "true") ||
         starts_with(text, "false");
}

Sniffed no_known_file() {
  return no_trace(Other::nothing_known, "other file", "its content is of no kind that is known");
}

Sniffed other_json(std::string_view text) {
  return begins_as_json(text) ? no_trace(Other::json, "other JSON", "it is JSON without events") : no_known_file();
}

std::int64_t find_number(std::string_view head, std::string_view key) {
  std::size_t at = head.find(key);
  if (at == std::string_view::npos) return -1;
  at = head.find_first_not_of(" \t\r\n:", at + key.size());
  std::int64_t value = 0;
  std::size_t digits = 0;
  for (; at < head.size() && head[at] >= '0' && head[at] <= '9' && digits < 9; ++at, ++digits)
    value = value * 10 + (head[at] - '0');
  return digits > 0 ? value : -1;
}

Sniffed kineto_trace(std::string_view head) {
  Sniffed found = known(TraceFormat::kineto, "Kineto trace");
  found.world_size = find_number(head, "\"world_size\"");
  const std::size_t info = head.find("\"distributedInfo\"");
  if (info != std::string_view::npos) found.rank = find_number(head.substr(info), "\"rank\"");
  return found;
}

/// {"data":["…", …]}, on a line of its own: how the older nsys JSON begins.
bool is_list_of_strings(std::string_view text) {
  const auto follows = [&](std::string_view part) {
    text.remove_prefix(std::min(text.size(), text.find_first_not_of(" \t\r\n")));
    if (!starts_with(text, part)) return false;
    text.remove_prefix(part.size());
    return true;
  };
  const std::string_view rest = text.substr(std::min(text.size(), text.find('\n')));
  const bool alone = rest.empty() || rest.find_first_not_of(" \t\r\n") == std::string_view::npos ||
                     rest[rest.find_first_not_of(" \t\r\n")] == '{';
  return alone && follows("{") && follows("\"data\"") && follows(":") && follows("[") && follows("\"");
}

Sniffed sniff_object(std::string_view text) {
  const std::vector<std::string_view> keys = keys_at_depth(text, 1, "traceEvents");
  const auto has = [&](std::string_view key) { return std::find(keys.begin(), keys.end(), key) != keys.end(); };
  if (has("traceEvents")) return kineto_trace(text);
  if (has("nodes") && has("schema")) return known(TraceFormat::execution_trace, "execution trace");
  // Metadata of any length may come before traceEvents.
  for (const std::string_view key : {"schemaVersion", "deviceProperties", "distributedInfo", "baseTimeNanoseconds",
                                     "displayTimeUnit", "traceName", "cupti_version"})
    if (has(key)) return kineto_trace(text);
  const std::string_view first_line = text.substr(0, text.find('\n'));
  if (contains(text, "_ttft_ms\"") || contains(text, "_tpot_ms\"") || has("avg_latency"))
    return no_trace(Other::benchmark, "serving benchmark result");
  if (has("table") && contains(first_line, "\"table\""))
    return known(TraceFormat::nsys_jsonlines, "Nsight Systems JSON lines");
  if (has("schema")) return known(TraceFormat::execution_trace, "execution trace");
  if (contains(first_line, "\"Type\":") || is_list_of_strings(text))
    return known(TraceFormat::nsys_jsonlines, "old Nsight Systems JSON");
  return other_json(text);
}

Sniffed sniff_array(std::string_view text) {
  const std::vector<std::string_view> keys = keys_at_depth(text, 2, "ph");
  const bool events = std::find(keys.begin(), keys.end(), "ph") != keys.end();
  return events ? known(TraceFormat::kineto, "Kineto trace") : other_json(text);
}

Sniffed sniff_pickle(std::string_view head) {
  if (contains(head, "segments") || contains(head, "device_traces"))
    return known(TraceFormat::memory_snapshot, "memory snapshot");
  if (contains(head, "nccl_version") || contains(head, "pg_config") || contains(head, "collective_seq_id"))
    return no_trace(Other::named, "NCCL flight recorder dump", "it is an NCCL flight recorder dump");
  return no_trace(Other::pickle, "other pickle", "it is a pickle of no kind that is known");
}

/// As much of the gzip data as comes out; stops at the first damage.
std::string inflate_head(std::string_view raw, InflateBackend backend) {
  std::string out(head_bytes, '\0');
  std::size_t size = 0;
  const std::unique_ptr<Inflater> inflater = make_inflater(backend);
  while (!raw.empty() && size < out.size()) {
    const InflateStep step = inflater->step(raw.data(), raw.size(), out.data() + size, out.size() - size);
    raw.remove_prefix(step.consumed);
    size += step.produced;
    if (step.status == InflateStatus::damaged || (step.consumed == 0 && step.produced == 0)) break;
    if (step.status == InflateStatus::member_end) inflater->restart();
  }
  out.resize(size);
  return out;
}

}  // namespace

Sniffed sniff_content(std::string_view head, std::string_view name) {
  if (starts_with(head, std::string_view("SQLite format 3\0", 16)))
    return known(TraceFormat::nsys_sqlite, "Nsight Systems SQLite export");
  if (starts_with(head, "\x80")) return sniff_pickle(head);
  if (ends_with(name, ".nsys-rep") || ends_with(name, ".qdrep"))
    return no_trace(Other::nsys_report, "Nsight Systems report", "it is an Nsight Systems report");
  if (head.size() > 262 && head.substr(257, 5) == "ustar") return packed("tar archive", "tar -xf");
  if (starts_with(head, "PK\x03\x04")) return packed("zip archive", "unzip");
  if (starts_with(head, "\x28\xb5\x2f\xfd")) return packed("zstd file", "unzstd");
  if (starts_with(head, "\xef\xbb\xbf")) head.remove_prefix(3);
  const std::size_t first = head.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return no_trace(Other::named, "blank file");
  head.remove_prefix(first);
  if (head.front() == '{') return sniff_object(head);
  if (head.front() == '[') return sniff_array(head);
  if (starts_with(head, "%PDF")) return no_trace(Other::named, "PDF");
  return no_known_file();
}

Sniffed sniff(const std::string& path) {
  Sniffed found;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  std::string raw(head_bytes, '\0');
  if (file) raw.resize(std::fread(raw.data(), 1, raw.size(), file.get()));
  if (!file || std::ferror(file.get()) != 0) {
    found.readable = false;
    return found;
  }
  if (!starts_with(raw, "\x1f\x8b")) return sniff_content(raw, file_name(path));
  std::string head = inflate_head(raw, InflateBackend::best);
  if (!head.empty()) found = sniff_content(head, file_name(path));
  const bool unknown = !head.empty() && found.format == TraceFormat::unknown && found.other == Other::nothing_known;
  if (unknown) head = inflate_head(raw, InflateBackend::zlib);  // takes fewer damaged files for text
  if (!head.empty()) {
    if (unknown)
      found = no_trace(Other::nothing_known, "other compressed file", "what it unpacks to is of no kind that is known");
  } else if (contains(file_name(path), ".json")) {
    found = known(TraceFormat::kineto, "Kineto trace");  // damaged at once: the reader names the damage
  } else {
    found = no_trace(Other::named, "damaged gzip file");
  }
  found.gzip = true;
  return found;
}

}  // namespace ccl
