#include "shared_settings.hpp"

#include "core/bytes.hpp"
#include "parse/config_files.hpp"

namespace ccl {

std::string shared_settings(const std::string& name, const Config& config, const Comm& comm) {
  std::string text;
  together(comm, [&] {
    if (comm.is_first()) text = merged_settings(name, config);
  });
  ByteWriter out;
  out.text(text);
  return ByteReader(comm.broadcast(out.take())).text();
}

Classifier shared_classifier(const Config& config, const Comm& comm) {
  const std::string kernels = shared_settings("kernels", config, comm);
  const std::string megatron = shared_settings("megatron", config, comm);
  return Classifier(kernels, {megatron, shared_settings("torchtitan", config, comm)});
}

}  // namespace ccl
