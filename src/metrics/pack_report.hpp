// A report on its way from the worker that made it to worker 0.
#pragma once
#include "core/bytes.hpp"
#include "metrics/metric.hpp"

namespace ccl {

/// All but its tables, which stay where they were made until they are written.
void pack_report(const Report& report, ByteWriter& out);
void unpack_report(ByteReader& in, Report& report);

}  // namespace ccl
