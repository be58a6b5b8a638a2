#include "parse/nsys_json.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace ccl {
namespace {

using Names = std::initializer_list<std::pair<std::string_view, std::string_view>>;

/// Members of an object under the names that the tables have; the others under their own.
void take_members(std::string_view object, Names names, NsysJsonLine& out) {
  for (JsonWalk walk(object); walk.next();) {
    const auto known = std::find_if(names.begin(), names.end(), [&](const auto& n) { return n.first == walk.key(); });
    out.columns.emplace_back(known == names.end() ? walk.key() : known->second, walk.value());
  }
}

/// {"Type":79,"CudaEvent":{…,"kernel":{…}}}: what the event was is told by the object inside.
void take_cuda_event(std::string_view object, NsysJsonLine& out) {
  take_members(object, {{"startNs", "start"}, {"endNs", "end"}}, out);
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kinds{
      {{"kernel", "CUPTI_ACTIVITY_KIND_KERNEL"},
       {"memcpy", "CUPTI_ACTIVITY_KIND_MEMCPY"},
       {"memset", "CUPTI_ACTIVITY_KIND_MEMSET"}}};
  for (std::size_t i = 0; i < out.columns.size(); ++i) {
    const auto [key, value] = out.columns[i];
    const auto kind = std::find_if(kinds.begin(), kinds.end(), [&k = key](const auto& known) { return known.first == k; });
    if (kind == kinds.end() || value.type != JsonType::object) continue;
    out.table = kind->second;
    take_members(value.text, {{"sizebytes", "bytes"}}, out);
    return;
  }
}

}  // namespace

bool read_nsys_json_line(std::string_view line, NsysJsonLine& out) {
  out.table = {};
  out.columns.clear();
  out.strings.clear();
  const char* begin = skip_space(line.data(), line.data() + line.size());
  if (begin == line.data() + line.size() || *begin != '{') return false;
  JsonWalk walk(line.substr(static_cast<std::size_t>(begin - line.data())));
  while (walk.next()) {
    const std::string_view key = walk.key(), text = walk.value().text;
    const bool object = walk.value().type == JsonType::object;
    if (key == "table") {
      out.table = text;
    } else if (key == "NvtxEvent" && object) {
      out.table = "NVTX_EVENTS";
      take_members(text, {{"Timestamp", "start"}, {"EndTimestamp", "end"}, {"Type", "eventType"}, {"GlobalTid", "globalTid"},
                          {"Text", "text"}, {"TextId", "textId"}, {"DomainId", "domainId"}}, out);
    } else if (key == "TraceProcessEvent" && object) {
      out.table = "CUPTI_ACTIVITY_KIND_RUNTIME";
      take_members(text, {{"startNs", "start"}, {"endNs", "end"}, {"name", "nameId"}}, out);
    } else if (key == "CudaEvent" && object) {
      take_cuda_event(text, out);
    } else if (key == "data" && walk.value().type == JsonType::array && out.table.empty()) {
      for (JsonWalk element(text); element.next();)
        out.strings.push_back(element.value().type == JsonType::string ? element.value().text : std::string_view());
    } else if (key == "type" && text == "String") {
      out.table = "StringIds";
    } else if (key == "type" && text == "ThreadName") {
      out.table = "ThreadNames";
    } else {
      out.columns.emplace_back(key, walk.value());
    }
  }
  return !walk.damaged();
}

JsonRow::JsonRow(const NsysJsonLine& line, const std::vector<std::string_view>& columns) {
  for (const std::string_view name : columns) {
    const auto found = std::find_if(line.columns.begin(), line.columns.end(),
                                    [&](const auto& column) { return column.first == name && column.second.present(); });
    values_.push_back(found == line.columns.end() ? nullptr : &found->second);
  }
}

std::optional<std::int64_t> JsonRow::integer(std::size_t column) const {
  const JsonValue* value = values_[column];
  if (value == nullptr || (value->type != JsonType::scalar && value->type != JsonType::string)) return {};
  const char *begin = value->text.data(), *end = begin + value->text.size();
  std::int64_t number = 0;
  auto result = std::from_chars(begin, end, number);
  if (result.ec == std::errc::result_out_of_range && *begin != '-') {
    // Identifiers use all 64 bits.
    std::uint64_t whole = 0;
    result = std::from_chars(begin, end, whole);
    number = static_cast<std::int64_t>(whole);
  }
  if (result.ec != std::errc() || result.ptr != end) return {};
  return number;
}

std::string_view JsonRow::text(std::size_t column) const {
  const JsonValue* value = values_[column];
  if (value == nullptr) return {};
  if (value->type != JsonType::string) return value->text;
  return texts_.emplace_back(clean_text(value->text));
}

}  // namespace ccl
