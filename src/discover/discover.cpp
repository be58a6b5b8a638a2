#include "discover/discover.hpp"

#include "discover/trace_files.hpp"
#include "parse/trace_reader.hpp"

namespace ccl {

Input discover(const Config& config, const Comm& comm, Problems& problems) {
  const auto can_read = [](TraceFormat format) {
    return is_companion(format) || make_reader(format) != nullptr;
  };
  return find_input_together(config, can_read, comm, problems);
}

}  // namespace ccl
