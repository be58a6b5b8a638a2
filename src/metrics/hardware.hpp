// Which hardware the run used, and its peaks: configs/hardware.yaml by the GPU's name in the traces, --peak, the card.
// Report stage, on worker 0. Order: command line, table for a recognised GPU or system, card.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "metrics/metric.hpp"

namespace ccl {

/// Names of the peaks, as --peak and configs/hardware.yaml spell them.
const std::vector<std::string>& peak_names();

struct Peak {
  double value = 0;         // FLOP/s or bytes/s, one way; 0 = unknown
  std::string source;       // "--peak", "H100 SXM", "Perlmutter", "card"
  double disagreeing = 0;   // the card's value where it differs by more than 5 %; 0 otherwise
  bool known() const { return value > 0; }
};

struct Hardware {
  std::string gpu, system;  // names of the table; empty = not recognised
  std::map<std::string, Peak> peaks;
  /// The one-way rate that traffic of this link class compares with: of the GPU's link, or of its NIC.
  Peak link(LinkClass link_class) const;
  Peak peak(const std::string& name) const;
};

/// hosts: names only where the run has real ones. yaml: text of configs/hardware.yaml with the settings laid over it.
/// Throws FatalError(bad_request) for a value that is no number.
Hardware recognise_hardware(const std::string& yaml, std::string_view gpu, const std::vector<std::string>& hosts,
                            const Workload& workload, const std::map<std::string, double>& chosen);

/// Throws FatalError(bad_request) if an entry of the table is unusable: before the work starts, not after it.
void check_hardware_settings(const std::string& yaml);

/// The hardware of the run, from the names that its traces and its card give.
Hardware find_hardware(const ReportContext& context);

}  // namespace ccl
