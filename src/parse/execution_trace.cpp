#include "parse/execution_trace.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "core/collective_math.hpp"
#include "parse/byte_source.hpp"
#include "parse/decimal.hpp"
#include "parse/json_text.hpp"

namespace ccl {
namespace {

constexpr std::int64_t most_text_bytes = std::int64_t{1} << 29, most_elements = std::int64_t{1} << 48;
constexpr std::size_t most_splits = 1 << 16;
constexpr std::int32_t most_ranks = 1 << 20;

std::int64_t count_of(std::string_view text) {
  const std::int64_t value = parse_integer(text, -1);
  return value >= 0 && value <= most_elements ? value : -1;
}

/// "[768, 768]"; empty if it is no such list.
std::vector<std::int64_t> numbers(std::string_view list) {
  std::vector<std::int64_t> out;
  if (list.size() < 2 || list.front() != '[') return out;
  for (JsonWalk walk(list); walk.next();) {
    const std::int64_t value = count_of(walk.value().text);
    if (value < 0 || out.size() == most_splits) return {};
    out.push_back(value);
  }
  return out;
}

/// Element types as the schema spells them: "Tensor(float)", "GenericList[Tensor(c10::Half)]".
Dtype dtype_of_tensor(std::string_view type) {
  static constexpr std::array<std::pair<std::string_view, Dtype>, 11> spellings{{{"c10::BFloat16", Dtype::bfloat16},
                                                                                 {"c10::Half", Dtype::float16},
                                                                                 {"double", Dtype::float64},
                                                                                 {"float", Dtype::float32},
                                                                                 {"long", Dtype::int64},
                                                                                 {"short", Dtype::int16},
                                                                                 {"unsigned char", Dtype::uint8},
                                                                                 {"signed char", Dtype::int8},
                                                                                 {"char", Dtype::int8},
                                                                                 {"bool", Dtype::boolean},
                                                                                 {"int", Dtype::int32}}};
  std::size_t at = type.find("Tensor(");
  if (at == std::string_view::npos) return Dtype::unknown;
  at += std::string_view("Tensor(").size();
  const std::string_view inside = type.substr(at, type.find(')', at) - at);
  for (const auto& [text, dtype] : spellings)
    if (inside.starts_with(text)) return dtype;
  return Dtype::unknown;
}

/// [id, storage, offset, elements, bytes of one, device], or a list of such; −1 if it is neither.
std::int64_t elements_of_tensors(std::string_view value) {
  if (value.empty() || value.front() != '[') return -1;
  std::int64_t sum = 0;
  std::size_t place = 0;
  for (JsonWalk walk(value); walk.next(); ++place) {
    if (walk.value().type == JsonType::array) {
      const std::int64_t one = elements_of_tensors(walk.value().text);
      if (one < 0 || (sum += one) > most_elements) return -1;
    } else if (place == 3) {
      return count_of(walk.value().text);
    }
  }
  return place > 0 ? sum : -1;
}

/// Values and types of a node's inputs or outputs, in either schema.
struct Lists {
  std::string_view values, types;
};

/// Arguments by their types: the first tensor, the first text, the two lists of splits, the group's name.
void read_inputs(const Lists& inputs, RecordedCommunication& call) {
  JsonWalk values(inputs.values), types(inputs.types);
  int lists = 0, integers = 0;
  while (values.next() && types.next()) {
    const std::string_view type = types.value().text;
    const JsonValue& value = values.value();
    if (type.find("Tensor(") != std::string_view::npos && call.in_elements < 0) {
      call.in_elements = elements_of_tensors(value.text);
      call.dtype = dtype_of_tensor(type);
    } else if (type == "Int" && ++integers == 2) {
      call.group_handle = parse_integer(value.text, -1);
    } else if (type == "String" && call.op == CollectiveOp::unknown) {
      call.op = op_from_collective_name(value.text);
    } else if (type.starts_with("GenericList[") && type.find("Tensor") == std::string_view::npos) {
      (lists == 0 ? call.in_splits : call.out_splits) = numbers(value.text);
      ++lists;
    }
  }
}

void read_attributes(std::string_view list, RecordedCommunication& call) {
  for (JsonWalk walk(list); walk.next();) {
    if (walk.value().type != JsonType::object) continue;
    const std::string_view name = json_member(walk.value().text, "name").text;
    const std::string_view value = json_member(walk.value().text, "value").text;
    if (name == "collective_name" && !value.empty()) call.op = op_from_collective_name(value);
    if (name == "dtype" && !value.empty()) call.dtype = dtype_from_text(value);
    if (name == "in_msg_nelems") call.in_elements = count_of(value);
    if (name == "out_msg_nelems") call.out_elements = count_of(value);
    if (name == "in_split_size") call.in_splits = numbers(value);
    if (name == "out_split_size") call.out_splits = numbers(value);
    if (name == "pg_name") call.group_name = clean_text(value);
    if (name == "pg_desc") call.group_description = clean_text(value);
    if (name == "pg_size")
      call.group_size = static_cast<std::int32_t>(std::clamp<std::int64_t>(parse_integer(value, -1), -1, most_ranks));
    if (name == "global_rank_start") call.first_rank = count_of(value);
    if (name == "global_rank_stride") call.rank_stride = count_of(value);
  }
}

bool read_node(std::string_view node, RecordedCommunication& call) {
  Lists inputs, outputs;
  std::string_view attributes;
  bool communicates = false;
  for (JsonWalk walk(node); walk.next();) {
    const std::string_view key = walk.key();
    const JsonValue& value = walk.value();
    if (key == "name") communicates = value.text == "record_param_comms";
    if (key == "id") call.node = parse_integer(value.text, -1);
    if (key == "inputs" || key == "outputs") {
      Lists& lists = key == "inputs" ? inputs : outputs;
      if (value.type == JsonType::array) lists.values = value.text;
      if (value.type != JsonType::object) continue;
      lists.values = json_member(value.text, "values").text;
      lists.types = json_member(value.text, "types").text;
    }
    if (key == "input_types") inputs.types = value.text;
    if (key == "output_types") outputs.types = value.text;
    if (key == "attrs" && value.type == JsonType::array) attributes = value.text;
  }
  if (!communicates || inputs.values.empty() || inputs.types.empty()) return false;
  read_inputs(inputs, call);
  if (!outputs.values.empty())
    for (JsonWalk walk(outputs.values); walk.next() && call.out_elements < 0;)
      call.out_elements = elements_of_tensors(walk.value().text);
  if (!attributes.empty()) read_attributes(attributes, call);
  return call.op != CollectiveOp::unknown;  // "wait" and what else is no operation
}

/// Operations that one kernel can stand for.
bool fits(CollectiveOp kernel, CollectiveOp call) {
  const auto exchanges = [](CollectiveOp op) {
    return op == CollectiveOp::all_to_all || op == CollectiveOp::all_to_allv || op == CollectiveOp::send_recv ||
           op == CollectiveOp::send || op == CollectiveOp::recv;
  };
  return kernel == call || kernel == CollectiveOp::unknown || (exchanges(kernel) && exchanges(call));
}

std::uint32_t group_row(const RecordedCommunication& call, RankTrace& trace) {
  for (std::size_t i = 0; i < trace.groups.size(); ++i)
    if (trace.groups[i].name == call.group_name) return static_cast<std::uint32_t>(i);
  ProcessGroup group;
  group.name = call.group_name;
  group.description = call.group_description;
  group.size = call.group_size;
  const std::int64_t last = call.first_rank + (std::int64_t{call.group_size} - 1) * call.rank_stride;
  if (call.group_size > 0 && call.first_rank >= 0 && call.rank_stride > 0 && last < most_ranks)
    for (std::int32_t i = 0; i < call.group_size; ++i)
      group.members.push_back(static_cast<std::int32_t>(call.first_rank + i * call.rank_stride));
  trace.groups.push_back(std::move(group));
  return static_cast<std::uint32_t>(trace.groups.size() - 1);
}

}  // namespace

std::vector<RecordedCommunication> read_execution_trace(std::string_view text) {
  std::vector<RecordedCommunication> calls;
  const std::size_t open = text.find('{');
  if (open == std::string_view::npos) return calls;
  for (JsonWalk root(text.substr(open)); root.next();) {
    if (root.key() != "nodes" || root.value().type != JsonType::array) continue;
    for (JsonWalk walk(root.value().text); walk.next();) {
      RecordedCommunication call;
      if (walk.value().type == JsonType::object && read_node(walk.value().text, call)) calls.push_back(std::move(call));
    }
  }
  std::stable_sort(calls.begin(), calls.end(), [](const auto& a, const auto& b) { return a.node < b.node; });
  return calls;
}

std::vector<RecordedCommunication> read_execution_trace(const TraceFile& file, const ReadOptions& options,
                                                        Problems& problems) {
  SourceMemory memory;
  const auto source = open_source(file.path, static_cast<std::size_t>(options.window_bytes), memory, options.inflate_limit);
  std::string text;
  bool too_long = false;
  while (!too_long && source->next(0)) {
    text.append(source->window(), source->size());
    too_long = static_cast<std::int64_t>(text.size()) > most_text_bytes;
  }
  too_long |= source->status() == SourceStatus::too_large;
  if (source->status() == SourceStatus::unreadable || too_long) {
    Problem problem;
    problem.code = too_long ? Code::size_limit : Code::unreadable_file;
    problem.file = file.shown;
    problem.detail = too_long ? "execution trace above 512 MB, or more text than --inflate-limit allows" : source->error();
    problems.add(std::move(problem));
    return {};
  }
  return read_execution_trace(text);
}

bool supply_communication(const std::vector<RecordedCommunication>& calls, RankTrace& trace) {
  std::vector<Collective*> kernels;
  for (Collective& c : trace.collectives) {
    if (c.has_arguments) return false;
    if (trace.events.launch_ns[c.event] != absent_ns) kernels.push_back(&c);
  }
  if (kernels.empty() || kernels.size() != calls.size()) return false;
  std::stable_sort(kernels.begin(), kernels.end(), [&](const Collective* a, const Collective* b) {
    return trace.events.launch_ns[a->event] < trace.events.launch_ns[b->event];
  });
  for (std::size_t i = 0; i < calls.size(); ++i)
    if (!fits(kernels[i]->op, calls[i].op)) return false;
  const auto add_splits = [&](const std::vector<std::int64_t>& splits, std::uint32_t& first, std::uint32_t& count) {
    first = static_cast<std::uint32_t>(trace.splits.size());
    count = static_cast<std::uint32_t>(splits.size());
    trace.splits.insert(trace.splits.end(), splits.begin(), splits.end());
  };
  // Where no group is named, the splits of an exchange tell how many take part in its group.
  std::map<std::int64_t, std::int32_t> sizes;
  for (const RecordedCommunication& call : calls)
    if (call.group_handle > 0 && !call.in_splits.empty())
      sizes[call.group_handle] = static_cast<std::int32_t>(call.in_splits.size());
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const RecordedCommunication& call = calls[i];
    Collective& c = *kernels[i];
    c.op = call.op;
    c.dtype = call.dtype;
    c.in_elements = call.in_elements;
    c.out_elements = call.out_elements;
    c.has_arguments = true;
    add_splits(call.in_splits, c.first_split, c.splits_count);
    add_splits(call.out_splits, c.first_out_split, c.out_splits_count);
    if (!call.group_name.empty()) c.group = group_row(call, trace);
    c.group_size = call.group_size > 0 ? call.group_size : c.group_size;
    const auto size = sizes.find(call.group_handle);
    if (c.group_size < 0 && size != sizes.end()) c.group_size = size->second;
  }
  return true;
}

}  // namespace ccl
