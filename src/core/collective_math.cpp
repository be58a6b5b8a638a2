#include "core/collective_math.hpp"

#include <cctype>
#include <string>

#include "core/lower_case.hpp"
#include "core/wide.hpp"

namespace ccl {
namespace {

std::string letters_of(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (std::isalpha(static_cast<unsigned char>(c)))
      out.push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
  return out;
}

}  // namespace

std::int64_t element_bytes(Dtype dtype) {
  switch (dtype) {
    case Dtype::int8: case Dtype::uint8: case Dtype::boolean: case Dtype::float8: case Dtype::float4x2:
    case Dtype::untyped: return 1;
    case Dtype::float16: case Dtype::bfloat16: case Dtype::int16: case Dtype::uint16: return 2;
    case Dtype::float32: case Dtype::int32: case Dtype::uint32: case Dtype::complex32: return 4;
    case Dtype::float64: case Dtype::int64: case Dtype::uint64: case Dtype::complex64: return 8;
    case Dtype::complex128: return 16;
    case Dtype::unknown: break;
  }
  return 0;
}

Dtype dtype_from_text(std::string_view text) {
  std::string t = lower_case(text);
  if (t.starts_with("c10::")) t.erase(0, 5);
  if (t.starts_with("torch.")) t.erase(0, 6);
  if (t.starts_with("nccl")) t.erase(0, 4);
  if (t.starts_with("float8")) return Dtype::float8;
  if (t.starts_with("float4_e2m1fn_x2")) return Dtype::float4x2;
  struct Spelling {
    std::string_view text;
    Dtype dtype;
  };
  static constexpr Spelling spellings[] = {
      {"float", Dtype::float32}, {"float32", Dtype::float32}, {"double", Dtype::float64},
      {"float64", Dtype::float64}, {"half", Dtype::float16}, {"float16", Dtype::float16},
      {"bfloat16", Dtype::bfloat16}, {"char", Dtype::int8}, {"int8", Dtype::int8}, {"signed char", Dtype::int8},
      {"byte", Dtype::uint8}, {"uint8", Dtype::uint8}, {"unsigned char", Dtype::uint8}, {"bool", Dtype::boolean},
      {"short", Dtype::int16}, {"int16", Dtype::int16}, {"int", Dtype::int32}, {"int32", Dtype::int32},
      {"long", Dtype::int64}, {"int64", Dtype::int64}, {"uint16", Dtype::uint16}, {"uint32", Dtype::uint32},
      {"uint64", Dtype::uint64}, {"complexhalf", Dtype::complex32}, {"complexfloat", Dtype::complex64},
      {"complex64", Dtype::complex64}, {"complexdouble", Dtype::complex128}, {"complex128", Dtype::complex128}};
  for (const Spelling& s : spellings)
    if (s.text == t) return s.dtype;
  return Dtype::unknown;
}

CollectiveOp op_from_collective_name(std::string_view text) {
  std::string name = letters_of(text);
  if (text.starts_with("c10d::")) name.erase(0, 2);  // the letters of "c10d" are "cd"
  struct Prefix {
    std::string_view text;
    CollectiveOp op;
  };
  // reduce_scatter and all_reduce before reduce, all_to_allv before all_to_all.
  static constexpr Prefix prefixes[] = {
      {"allreduce", CollectiveOp::all_reduce}, {"allgather", CollectiveOp::all_gather},
      {"reducescatter", CollectiveOp::reduce_scatter}, {"alltoallv", CollectiveOp::all_to_allv},
      {"alltoall", CollectiveOp::all_to_all}, {"broadcast", CollectiveOp::broadcast},
      {"reduce", CollectiveOp::reduce}, {"gather", CollectiveOp::gather}, {"scatter", CollectiveOp::scatter},
      {"sendrecv", CollectiveOp::send_recv}, {"send", CollectiveOp::send}, {"recv", CollectiveOp::recv},
      {"barrier", CollectiveOp::barrier}};
  for (const Prefix& p : prefixes)
    if (name.starts_with(p.text)) return p.op;
  return CollectiveOp::unknown;
}

bool is_symmetric(CollectiveOp op) {
  switch (op) {
    case CollectiveOp::all_reduce: case CollectiveOp::all_gather: case CollectiveOp::reduce_scatter:
    case CollectiveOp::all_to_all: case CollectiveOp::all_to_allv: case CollectiveOp::barrier: return true;
    default: return false;
  }
}

bool is_point_to_point(CollectiveOp op) {
  return op == CollectiveOp::send || op == CollectiveOp::recv || op == CollectiveOp::send_recv;
}

std::int64_t payload_bytes(CollectiveOp op, std::int64_t in_bytes, std::int64_t out_bytes, std::int64_t n) {
  switch (op) {
    case CollectiveOp::all_gather: case CollectiveOp::recv: return out_bytes;
    case CollectiveOp::broadcast: case CollectiveOp::reduce: return in_bytes == 0 ? out_bytes : in_bytes;
    case CollectiveOp::gather: return in_bytes < 0 ? -1 : n * in_bytes;
    case CollectiveOp::scatter: return out_bytes < 0 ? -1 : n * out_bytes;
    case CollectiveOp::barrier: return 0;
    case CollectiveOp::dispatch: case CollectiveOp::combine: case CollectiveOp::unknown: return -1;
    default: return in_bytes;
  }
}

double bus_factor(CollectiveOp op, std::int64_t n) {
  if (n <= 1) return 0.0;
  const auto ranks = static_cast<double>(n);
  switch (op) {
    case CollectiveOp::all_reduce: return 2.0 * (ranks - 1.0) / ranks;
    case CollectiveOp::all_gather: case CollectiveOp::reduce_scatter: case CollectiveOp::all_to_all:
    case CollectiveOp::all_to_allv: case CollectiveOp::gather: case CollectiveOp::scatter:
      return (ranks - 1.0) / ranks;
    case CollectiveOp::broadcast: case CollectiveOp::reduce: case CollectiveOp::send: case CollectiveOp::recv:
    case CollectiveOp::send_recv: return 1.0;
    default: return 0.0;
  }
}

std::int64_t wire_bytes(CollectiveOp op, std::int64_t payload, std::int64_t n) {
  if (payload < 0) return -1;
  if (n <= 1) return 0;
  switch (op) {
    case CollectiveOp::all_reduce: return scaled(payload, 2 * (n - 1), n);
    case CollectiveOp::all_gather: case CollectiveOp::reduce_scatter: case CollectiveOp::all_to_all:
    case CollectiveOp::all_to_allv: case CollectiveOp::gather: case CollectiveOp::scatter:
      return scaled(payload, n - 1, n);
    case CollectiveOp::broadcast: case CollectiveOp::reduce: case CollectiveOp::send: case CollectiveOp::recv:
    case CollectiveOp::send_recv: return payload;
    default: return 0;
  }
}

}  // namespace ccl
