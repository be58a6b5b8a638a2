// Nsight Systems reports (.nsys-rep) are binary: only the nsys program reads them. In: reports found in the trace
// folders; out: SQLite exports beside them, made by `nsys export` if the user wants that. Runs on worker 0 only.
#pragma once
#include <string>
#include <string_view>

#include "core/problems.hpp"
#include "discover/walk.hpp"

namespace ccl {

bool is_nsys_report(std::string_view name);
/// Path of the export that belongs to a report: X.nsys-rep -> X.sqlite.
std::string export_of(const std::string& report);
/// How a user makes the export: the command, with the flags that keep message sizes of NCCL.
std::string export_advice(const std::string& report);

/// Exports every report that has no export beside it; true if there is a new file. A report that fails is named as a
/// warning. Throws FatalError(bad_request) if there is something to export and no nsys on PATH.
bool export_reports(const FileTree& tree, Problems& problems);

}  // namespace ccl
