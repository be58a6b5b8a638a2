// Planted faults, as KIND:key=value,key=value on the command line.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace synth {

struct Fault {
  std::string kind;
  std::map<std::string, std::string> values;

  std::int64_t number(const std::string& key, std::int64_t otherwise) const;
  double ratio(const std::string& key, double otherwise) const;
  bool active(int step) const;  // from=, until= (inclusive), both step numbers
};

/// Throws std::invalid_argument on an unknown kind or key.
Fault parse_fault(const std::string& text);
/// For --help: one line per kind.
std::string describe_faults();

const Fault* find_fault(const std::vector<Fault>& faults, const std::string& kind, int rank);
double compute_factor(const std::vector<Fault>& faults, int rank, int step);
double launch_factor(const std::vector<Fault>& faults, int rank, int step);
std::int64_t launch_delay_ns(const std::vector<Fault>& faults, int rank, int step);
/// Pause of the CPU before its k-th launch of the step, 0 mostly.
std::int64_t pause_ns(const std::vector<Fault>& faults, int rank, int step, int launch);
double link_factor(const std::vector<Fault>& faults, const std::vector<int>& members, bool across_hosts,
                   int ranks_per_host, int step);
bool is_missing(const std::vector<Fault>& faults, int rank);

}  // namespace synth
