// The names profilers show: of kernels, of the CPU operators that launch them, of collectives.
#pragma once
#include <string>

#include "job.hpp"
#include "work.hpp"

namespace synth {

struct KernelName {
  const char* cuda;  // as CUPTI names it
  const char* rocm;
  const char* outer_op;  // CPU operator, and the one inside it that launches
  const char* inner_op;
  const char* category;  // kernel, gpu_memcpy, gpu_memset
  int registers, warps;
};

const KernelName& name_of(Kernel kernel);

struct CollectiveName {
  const char* argument;    // Collective name
  const char* annotation;  // nccl:…
  const char* c10d;        // CPU operator
  const char* kernel;      // ncclDevKernel_… of today
  const char* old_kernel;  // ncclKernel_… of NCCL before 2.19
};

const CollectiveName& name_of(Collective op);
const char* name_of(ElementType type);       // c10 spelling
std::string short_kernel_name(const char*);  // without template and arguments, as nsys has it

}  // namespace synth
