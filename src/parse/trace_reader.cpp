#include "parse/trace_reader.hpp"

namespace ccl {

std::unique_ptr<TraceReader> make_reader(TraceFormat format) {
  switch (format) {
    case TraceFormat::kineto: return make_kineto_reader();
    case TraceFormat::nsys_jsonlines: return make_nsys_json_reader();
#if defined(CCL_HAS_SQLITE)
    case TraceFormat::nsys_sqlite: return make_nsys_sqlite_reader();
#endif
    default: return nullptr;
  }
}

}  // namespace ccl
