// Seeds of the Kineto targets: every kind of event and header that the reader looks into, and known damage.
#pragma once
#include <string>
#include <vector>

namespace ccl::fuzz {

inline std::vector<std::string> kineto_seeds() {
  const std::string head = R"({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "H100", "totalGlobalMem": 85}],
 "distributedInfo": {"backend": "nccl", "rank": "1", "world_size": 2, "pg_config": [{"pg_name": "0", "pg_desc": "mesh_dp", "ranks": [0, 1]}]},
 "baseTimeNanoseconds": 1700000000000000000, "traceEvents": [)";
  const std::string kernel =
      R"j({"ph": "X", "cat": "kernel", "name": "gemm\n\u00e9", "pid": 0, "tid": 7, "ts": 10.5, "dur": 3.25, "args": {"External id": 5, "device": 0, "stream": 7, "correlation": 4, "grid": [1, 2, 3], "block": [32, 1, 1], "warps per SM": 0.5, "est. achieved occupancy %": 50}})j";
  const std::string collective =
      R"j({"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllToAll(x)", "pid": 0, "tid": 20, "ts": "20.001", "dur": 1e1, "args": {"device": 0, "stream": 20, "correlation": 5, "Collective name": "alltoallv", "In msg nelems": 64, "Out msg nelems": 64, "Group size": 2, "dtype": "BFloat16", "In split size": "[1, 2]", "Out split size": [3, 4], "Process Group Name": "0", "Process Group Description": "mesh_dp", "Process Group Ranks": "[0, 1]", "Seq": 3}})j";
  const std::string others =
      R"j({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9, "ts": 1, "dur": 1, "args": {"correlation": 4, "External id": 5}},
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "pid": 9, "tid": 9, "ts": 0, "dur": 50},
{"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "pid": 9, "tid": 9, "ts": 1, "dur": 2, "args": {"External id": 5, "Collective name": "send", "dst rank": 1}},
{"ph": "X", "cat": "cpu_op", "name": "autograd::engine::evaluate_function: MmBackward0", "pid": 9, "tid": 8, "ts": 1, "dur": 2, "args": {"Sequence number": 7, "Fwd thread id": 1}},
{"ph": "X", "cat": "python_function", "name": "torch/optim/adam.py(3): step", "pid": 9, "tid": 8, "ts": 1, "dur": 2},
{"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pinned -> Device)", "pid": 0, "tid": 9, "ts": 20, "dur": 0, "args": {"device": 0, "stream": 9, "bytes": 8, "memory bandwidth (GB/s)": inf}},
{"ph": "B", "cat": "kernel", "name": "b", "pid": 0, "tid": 7, "ts": 30}, {"ph": "E", "pid": 0, "tid": 7, "ts": 32},
{"ph": "M", "name": "process_name", "pid": 0, "args": {"name": "p"}}, {"ph": "f", "id": 4, "pid": 0, "tid": 7, "ts": 1, "cat": "ac2g"}, null)j";
  const std::string all = kernel + ",\n" + collective + ",\n" + others;
  return {head + all + "]}\n",
          "{\"traceEvents\": [" + others + ",\n" + kernel + "],\n\"traceName\": \"C:\\Users\\x\", \"distributedInfo\": {\"rank\": 1}}",
          "[\n" + kernel + "," + collective + "\n]",
          head + kernel + ",\n" + R"j({"ph": "X", "cat": "kernel", "name": "{"device": "cpu"}(12): run", "ts": 1, "dur": 1})j" + ",\n" + kernel + "]}",
          head + kernel + "},\n" + kernel + ",\n{\"ph\": \"X\", \"args\": {" + kernel + ",\n" + collective + "]}",
          "\xef\xbb\xbf{\r\n\"traceEvents\":[\r\n{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"a\",\"ts\":-1e400,\"dur\":99999999999999999999,\"tid\":1,\"pid\":0}\r\n]\r\n}",
          head + "{\"a\":[[[[{\"b\":[[1]]}]]]]}," + kernel};
}

}  // namespace ccl::fuzz
