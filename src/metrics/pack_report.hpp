// A report on its way from the worker that made it to worker 0.
#pragma once
#include "core/bytes.hpp"
#include "metrics/metric.hpp"

namespace ccl {

/// Rows that --output-json has of a table.
constexpr std::int64_t most_shown_rows = 64;
/// Fills report.shown from the metric's tables.
void keep_shown(MetricResult& metric);

/// All but its tables, which stay where they were made until they are written; of those that are shown the first rows.
void pack_report(const Report& report, ByteWriter& out);
void unpack_report(ByteReader& in, Report& report);

}  // namespace ccl
