#include "core/kinds.hpp"

#include <array>
#include <cstddef>

namespace ccl {
namespace {

template <class Enum, std::size_t N>
std::string_view name(const std::array<std::string_view, N>& names, Enum value) {
  const auto i = static_cast<std::size_t>(value);
  return i < N ? names[i] : std::string_view("unknown");
}

}  // namespace

std::string_view to_text(EventKind v) {
  static constexpr std::array<std::string_view, 4> names{"compute", "communication", "memory_copy", "memory_set"};
  return name(names, v);
}
std::string_view to_text(CollectiveOp v) {
  static constexpr std::array<std::string_view, 16> names{
      "unknown", "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "all_to_allv", "broadcast", "reduce",
      "gather", "scatter", "send", "recv", "send_recv", "barrier", "dispatch", "combine"};
  return name(names, v);
}
std::string_view to_text(Dtype v) {
  static constexpr std::array<std::string_view, 20> names{
      "unknown", "float32", "float64", "float16", "bfloat16", "int8", "uint8", "bool", "int16", "int32", "int64",
      "uint16", "uint32", "uint64", "float8", "float4x2", "complex32", "complex64", "complex128", "untyped"};
  return name(names, v);
}
std::string_view to_text(Dimension v) {
  static constexpr std::array<std::string_view, 8> names{"unknown", "world", "dp", "tp", "pp", "cp", "ep", "mixed"};
  return name(names, v);
}
std::string_view to_text(LinkClass v) {
  static constexpr std::array<std::string_view, 3> names{"unknown", "intra", "inter"};
  return name(names, v);
}
std::string_view to_text(MatchRule v) {
  static constexpr std::array<std::string_view, 4> names{"seq", "ordinal", "aligned", "pair"};
  return name(names, v);
}
std::string_view to_text(RankSource v) {
  static constexpr std::array<std::string_view, 11> names{
      "none",  "content",      "option",      "file_name",   "only_file",   "name_after_clash",
      "label", "communicator", "environment", "thread_name", "device_order"};
  return name(names, v);
}
std::string_view to_text(HostSource v) {
  static constexpr std::array<std::string_view, 6> names{"unknown", "option", "content", "file_name", "block", "card"};
  return name(names, v);
}
std::string_view to_text(StepSource v) { return v == StepSource::marker ? "marker" : "span"; }
std::string_view to_text(TraceFormat v) {
  static constexpr std::array<std::string_view, 6> names{
      "unknown", "kineto", "nsys_sqlite", "nsys_jsonlines", "memory_snapshot", "execution_trace"};
  return name(names, v);
}
std::string_view to_text(RankStatus v) {
  static constexpr std::array<std::string_view, 4> names{"ok", "partial", "no_gpu_events", "left_out"};
  return name(names, v);
}
std::string_view to_text(Status v) {
  static constexpr std::array<std::string_view, 4> names{"ok", "partial", "absent", "not_applicable"};
  return name(names, v);
}

bool is_nsys(TraceFormat format) {
  return format == TraceFormat::nsys_sqlite || format == TraceFormat::nsys_jsonlines;
}

bool is_companion(TraceFormat format) {
  return format == TraceFormat::memory_snapshot || format == TraceFormat::execution_trace;
}

}  // namespace ccl
