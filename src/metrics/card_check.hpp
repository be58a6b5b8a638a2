// What the workload card says of the machine, against what the traces and the hardware table say. Report stage.
#pragma once
#include "metrics/metric.hpp"

namespace ccl {

/// Each disagreement becomes one Code::card_disagrees: number of GPUs, GPUs of a node, ranks of a
/// host, GPU model, rates of the links; and without a card sizes of the mesh against those of the process groups.
void compare_card(const ReportContext& context, Problems& problems);

}  // namespace ccl
