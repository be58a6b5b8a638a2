#include "parse/kineto_header.hpp"

#include <array>
#include <limits>

#include "parse/decimal.hpp"
#include "parse/event_limits.hpp"
#include "parse/kineto_arguments.hpp"

namespace ccl {
namespace {

constexpr std::array<std::string_view, 10> header_keys{
    "distributedInfo", "deviceProperties", "computeProperties", "baseTimeNanoseconds", "hostname",
    "HOSTNAME", "host_name", "pytorch_version", "torch_version", "framework_version"};

std::int32_t small_number(const JsonValue& value) {
  const std::int64_t number = parse_integer(value.text, -1);
  return number < 0 || number > std::numeric_limits<std::int32_t>::max() ? -1 : static_cast<std::int32_t>(number);
}

std::string text_of(const JsonValue& value) {
  return value.type == JsonType::string ? clean_text(value.text) : std::string();
}

ProcessGroup read_group(std::string_view object) {
  ProcessGroup group;
  for (JsonWalk walk(object); walk.next();) {
    const std::string_view key = walk.key();
    if (key == "pg_name") {
      group.name = clean_text(walk.value().text);  // a number in some versions
    } else if (key == "pg_desc") {
      group.description = text_of(walk.value());
    } else if (key == "pg_size") {
      group.size = small_number(walk.value());
    } else if (key == "ranks") {
      for (const std::int64_t rank : read_number_list(walk.value()).numbers)
        group.members.push_back(static_cast<std::int32_t>(rank));
    }
  }
  if (group.size < 0 && !group.members.empty()) group.size = static_cast<std::int32_t>(group.members.size());
  return group;
}

void read_distributed_info(std::string_view object, TraceHeader& header) {
  for (JsonWalk walk(object); walk.next();) {
    const JsonValue& value = walk.value();
    if (walk.key() == "rank") {
      header.rank = RankId(small_number(value));
    } else if (walk.key() == "world_size") {
      header.world_size = small_number(value);
    } else if (walk.key() == "pg_config" && value.type == JsonType::array) {
      for (JsonWalk groups(value.text); groups.next();)
        if (groups.value().type == JsonType::object) header.pg_config.push_back(read_group(groups.value().text));
    }
  }
}

/// A list whose end is lost runs on into the events: then it does not tell how many devices there are.
void read_devices(std::string_view list, TraceHeader& header) {
  header.gpus = 0;
  header.swallowed_count = 0;
  for (JsonWalk walk(list); walk.next();) {
    if (walk.value().type != JsonType::object) continue;
    if (json_member(walk.value().text, "ph").present()) {
      ++header.swallowed_count;
      continue;
    }
    if (header.gpus++ > 0) continue;
    header.gpu = text_of(json_member(walk.value().text, "name"));
    header.gpu_memory_bytes = parse_integer(json_member(walk.value().text, "totalGlobalMem").text, -1);
  }
  if (header.swallowed_count > 0) header.gpus = 0;
}

}  // namespace

bool is_header_key(std::string_view raw_key) {
  for (const std::string_view key : header_keys)
    if (raw_key == key) return true;
  return false;
}

void read_header_value(std::string_view raw_key, const JsonValue& value, TraceHeader& header) {
  if (!value.present()) return;
  if (header.keeps_said) header.said.push_back({std::string(raw_key), std::string(value.text), value.type});
  if (raw_key == "distributedInfo") {
    if (value.type == JsonType::object) read_distributed_info(value.text, header);
  } else if (raw_key == "deviceProperties" || raw_key == "computeProperties") {
    if (value.type == JsonType::array) read_devices(value.text, header);
  } else if (raw_key == "baseTimeNanoseconds") {
    const Decimal base = parse_decimal(value.text, 0);
    const bool usable = base.status == DecimalStatus::ok && base.value >= 0 && is_possible_time(base.value);
    header.base_out_of_range = !usable;
    header.base_ns = usable ? base.value : 0;
  } else if (raw_key.find("host") != std::string_view::npos || raw_key == "HOSTNAME") {
    header.host = text_of(value);
  } else {
    header.framework_version = text_of(value);
  }
}

}  // namespace ccl
