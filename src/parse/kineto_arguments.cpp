#include "parse/kineto_arguments.hpp"

#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "parse/decimal.hpp"
#include "parse/event_limits.hpp"

namespace ccl {
namespace {

float parse_float(std::string_view text) {
  // A few digits: both numbers are exact in a double, so their quotient is the one that from_chars gives.
  static constexpr double powers[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
  std::uint64_t digits = 0;
  std::size_t at = 0, behind_point = 0;
  for (bool point = false; at < text.size() && text.size() <= 15; ++at) {
    const auto digit = static_cast<unsigned>(static_cast<unsigned char>(text[at])) - '0';
    if (digit < 10)
      digits = digits * 10 + digit, behind_point += point ? 1 : 0;
    else if (text[at] == '.' && !point && at > 0)
      point = true;
    else
      break;
  }
  if (at == text.size() && at > 0 && text.back() != '.')
    return static_cast<float>(static_cast<double>(digits) / powers[behind_point]);
  double value = 0;
  const bool is_number = std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc();
  return is_number && std::isfinite(value) ? static_cast<float>(value) : std::numeric_limits<float>::quiet_NaN();
}

/// A key or text that starts with C, as `Collective name` does, from its quote on; else end.
const char* find_key_with_c(const char* at, const char* end) {
  while ((at = static_cast<const char*>(std::memchr(at, 'C', static_cast<std::size_t>(end - at)))) != nullptr) {
    if (at[-1] == '"') return at - 1;
    ++at;
  }
  return end;
}

void read_shape(std::string_view key, std::string_view text, GpuArguments& out) {
  float* const to = is(key, "blocks per SM")               ? &out.blocks_per_sm
                    : is(key, "warps per SM")              ? &out.warps_per_sm
                    : is(key, "est. achieved occupancy %") ? &out.occupancy_percent
                                                         : nullptr;
  if (to == nullptr) return;
  if (!out.has_shape) {
    out.has_shape = true;
    out.blocks_per_sm = out.warps_per_sm = out.occupancy_percent = std::numeric_limits<float>::quiet_NaN();
  }
  *to = parse_float(text);
}

void walk_gpu_arguments(JsonWalk walk, const char* end, ArgumentNeeds needs, bool has_correlation, GpuArguments& out) {
  while (walk.next()) {
    const std::string_view key = walk.key();
    const std::string_view text = walk.value().text;
    // Of a key that a damaged event has twice the first counts: how far is read depends on what is wanted.
    if (is(key, "stream")) {
      if (out.has_stream) continue;
      out.stream = parse_integer(text, std::numeric_limits<std::int64_t>::min());
      out.has_stream = out.stream != std::numeric_limits<std::int64_t>::min();
    } else if (is(key, "device")) {
      if (out.device < 0) out.device = parse_integer(text, -1);
    } else if (is(key, "correlation")) {
      if (!has_correlation) out.correlation = parse_integer(text, 0);
      has_correlation = true;
    } else if (is(key, "External id")) {
      if (out.external_id < 0) out.external_id = parse_integer(text, -1);
    } else if (is(key, "bytes")) {
      out.bytes = device_bytes(text);
    } else if (is(key, "Collective name")) {
      out.has_collective = walk.value().present();
    } else if (needs == ArgumentNeeds::all && text.size() < 32) {
      read_shape(key, text, out);
    }
    // Most kernels are compute, and no key that starts like `Collective name` comes behind their ids.
    if (needs == ArgumentNeeds::ids && has_correlation && out.has_stream && out.device >= 0 &&
        find_key_with_c(walk.position(), end) == end)
      break;
  }
}

}  // namespace

GpuArguments read_gpu_arguments(std::string_view arguments, ArgumentNeeds needs) {
  GpuArguments out;
  if (!arguments.empty())
    walk_gpu_arguments(JsonWalk(arguments), arguments.data() + arguments.size(), needs, false, out);
  return out;
}

void read_behind_ids(const char* at, const char* end, ArgumentNeeds needs, GpuArguments& out) {
  constexpr std::string_view collective = "\"Collective name\": \"";
  if (needs == ArgumentNeeds::ids) {
    const char* const found = find_key_with_c(at, end);
    out.has_collective = std::string_view(found, static_cast<std::size_t>(end - found)).starts_with(collective);
    if (found == end || out.has_collective) return;
  }
  walk_gpu_arguments(JsonWalk(at, end), end, needs, true, out);
}

LaunchArguments read_launch_arguments(std::string_view arguments) {
  LaunchArguments out;
  if (arguments.empty()) return out;
  for (JsonWalk walk(arguments); walk.next();) {
    if (is(walk.key(), "correlation")) {
      out.correlation = parse_integer(walk.value().text, 0);
      if (out.correlation != 0) return out;
    } else if (is(walk.key(), "External id")) {
      out.external_id = parse_integer(walk.value().text, -1);
    }
  }
  return out;
}

std::int64_t device_bytes(std::string_view text) {
  return possible_bytes(parse_integer(text, -1));
}

std::int32_t read_sequence_number(std::string_view arguments) {
  if (arguments.empty()) return -1;
  const std::int64_t number = parse_integer(json_member(arguments, "Sequence number").text, -1);
  return number < 0 || number > std::numeric_limits<std::int32_t>::max() ? -1 : static_cast<std::int32_t>(number);
}

CommunicationArguments read_communication_arguments(std::string_view arguments) {
  CommunicationArguments out;
  if (arguments.empty()) return out;
  for (JsonWalk walk(arguments); walk.next();) {
    const std::string_view key = walk.key();
    const JsonValue& value = walk.value();
    if (!value.present()) continue;
    if (is(key, "Collective name")) {
      out.collective = value.text;
      out.any = true;
    } else if (is(key, "dtype")) {
      out.dtype = value.text;
    } else if (is(key, "In msg nelems")) {
      out.in_elements = parse_integer(value.text, -1);
    } else if (is(key, "Out msg nelems")) {
      out.out_elements = parse_integer(value.text, -1);
    } else if (is(key, "Group size")) {
      out.group_size = parse_integer(value.text, -1);
    } else if (is(key, "Process Group Name")) {
      out.group_name = value.text;
    } else if (is(key, "Process Group Description")) {
      out.group_description = value.text;
    } else if (is(key, "Process Group Ranks")) {
      out.members = value;
    } else if (is(key, "In split size")) {
      out.in_split = value;
    } else if (is(key, "Out split size")) {
      out.out_split = value;
    } else if (is(key, "Seq")) {
      out.sequence = parse_integer(value.text, -1);
    } else if (is(key, "Src Rank")) {
      out.source = parse_integer(value.text, -1);
    } else if (is(key, "Dst Rank")) {
      out.destination = parse_integer(value.text, -1);
    } else if (is(key, "External id")) {
      out.external_id = parse_integer(value.text, -1);
    }
  }
  return out;
}

NumberList read_number_list(const JsonValue& value) {
  NumberList out;
  if (!value.present()) return out;
  const std::string_view text = value.text;
  out.cut = text.find("...") != std::string_view::npos;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if ((c < '0' || c > '9') && c != '-') {
      ++at;
      continue;
    }
    std::size_t end = at + 1;
    while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
    const std::int64_t number = parse_integer(text.substr(at, end - at), std::numeric_limits<std::int64_t>::min());
    if (number != std::numeric_limits<std::int64_t>::min()) out.numbers.push_back(number);
    at = end;
  }
  return out;
}

}  // namespace ccl
