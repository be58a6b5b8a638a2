// Trace text for the benchmarks, made up as it is asked for: per launch twelve CPU events, and every third a kernel
// with its arguments, which is about what a training trace holds.
#pragma once
#include <string>

namespace ccl::bench {

inline std::string cpu_event(int number) {
  const std::string n = std::to_string(number);
  return R"({"ph": "X", "cat": "cpu_op", "name": "aten::mul", "pid": 4711, "tid": 4711, "ts": 81234)" + n +
         R"(.125, "dur": 7.250, "args": {"External id": )" + n + R"(, "Record function id": 0, "Ev Idx": )" + n +
         R"(, "Sequence number": 17, "Fwd thread id": 0}})";
}

inline std::string launch_event(int number) {
  const std::string n = std::to_string(number);
  return R"({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 4711, "tid": 4711, "ts": 81234)" + n +
         R"(.500, "dur": 4.125, "args": {"External id": )" + n + R"(, "cbid": 211, "correlation": )" + n + "}}";
}

inline std::string kernel_event(int number) {
  const std::string n = std::to_string(number);
  return R"=({"ph": "X", "cat": "kernel", "name": "void at::native::vectorized_elementwise_kernel<4, )="
         R"=(at::native::BinaryFunctor<c10::BFloat16, c10::BFloat16>, std::array<char*, 3ul> >(int, )="
         R"=(at::native::BinaryFunctor<c10::BFloat16>, std::array<char*, 3ul>)", "pid": 0, "tid": 7, "ts": 81235)=" +
         n + R"(.750, "dur": 12.500, "args": {"External id": )" + n +
         R"(, "queued": 0, "device": 0, "context": 1, "stream": 7, "correlation": )" + n +
         R"(, "registers per thread": 32, "shared memory": 0, "blocks per SM": 9.48, "warps per SM": 37.9, )"
         R"("grid": [1024, 1, 1], "block": [128, 1, 1], "est. achieved occupancy %": 59}})";
}

/// A whole trace of about that many bytes.
inline std::string trace_text(std::size_t bytes) {
  std::string text = "{\"schemaVersion\": 1,\n\"traceEvents\": [\n";
  for (int number = 100000; text.size() < bytes; ++number) {
    for (int i = 0; i < 12; ++i) text += cpu_event(number) + ",\n";
    text += launch_event(number) + ",\n";
    if (number % 3 == 0) text += kernel_event(number) + ",\n";
  }
  return text + kernel_event(99999) + "\n]}\n";
}

}  // namespace ccl::bench
