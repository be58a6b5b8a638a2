#include "faults.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <stdexcept>

namespace synth {
namespace {

struct Kind {
  const char* name;
  const char* keys;  // comma separated
  const char* what;
};

constexpr std::array<Kind, 14> kinds{{
    {"slow_rank", "rank,factor,from,until", "every compute kernel of the rank takes factor times as long"},
    {"late_launch", "rank,factor,delay_us,from,until", "its CPU launches slower, or starts the step delay_us late"},
    {"slow_link", "a,b,factor,from,until", "collectives that hold ranks a and b transfer factor times as long"},
    {"slow_host", "host,factor,from,until", "collectives that leave the host transfer factor times as long"},
    {"gc_pause", "rank,step,launch,ms", "the CPU of the rank stops for ms before a launch of that step"},
    {"missing", "rank", "the file of the rank is not written"},
    {"leading_kernels", "rank,count",
     "kernels from before the window, without arguments and launches (default: all ranks)"},
    {"window", "rank,from,until", "the file of the rank holds only these steps"},
    {"step_shift", "rank,by", "the rank counts its steps from another start"},
    {"cpu_only", "rank", "the file of the rank has no GPU events"},
    {"bad_splits", "rank,step", "the rank's all-to-all split lists do not fit the others'"},
    {"cut", "rank,keep", "the file of the rank ends after keep (ratio) of its bytes"},
    {"bad_bytes", "rank,events", "event names of the rank hold broken text"},
    {"wrong_world", "rank,size", "the file of the rank claims another world size"},
}};

bool has_key(const Kind& kind, const std::string& key) {
  const std::string all = std::string(",") + kind.keys + ",";
  return all.find("," + key + ",") != std::string::npos;
}

bool concerns(const Fault& fault, int rank) { return fault.number("rank", rank) == rank; }

}  // namespace

std::int64_t Fault::number(const std::string& key, std::int64_t otherwise) const {
  const auto at = values.find(key);
  return at == values.end() ? otherwise : std::stoll(at->second);
}

double Fault::ratio(const std::string& key, double otherwise) const {
  const auto at = values.find(key);
  return at == values.end() ? otherwise : std::stod(at->second);
}

bool Fault::active(int step) const {
  return step >= number("from", 0) && step <= number("until", std::numeric_limits<std::int64_t>::max());
}

Fault parse_fault(const std::string& text) {
  const auto colon = text.find(':');
  Fault fault{text.substr(0, colon), {}};
  const auto* kind = std::find_if(kinds.begin(), kinds.end(), [&](const Kind& k) { return fault.kind == k.name; });
  if (kind == kinds.end()) throw std::invalid_argument("unknown fault '" + fault.kind + "'");
  std::string rest = colon == std::string::npos ? "" : text.substr(colon + 1);
  while (!rest.empty()) {
    const auto comma = rest.find(',');
    const std::string pair = rest.substr(0, comma);
    rest = comma == std::string::npos ? "" : rest.substr(comma + 1);
    const auto equals = pair.find('=');
    const std::string key = pair.substr(0, equals);
    if (equals == std::string::npos || !has_key(*kind, key))
      throw std::invalid_argument("fault " + fault.kind + " takes " + kind->keys + ", not '" + pair + "'");
    fault.values[key] = pair.substr(equals + 1);
    try {
      (void)std::stod(fault.values[key]);
    } catch (const std::exception&) {
      throw std::invalid_argument("fault " + fault.kind + ": '" + pair + "' needs a number");
    }
  }
  return fault;
}

std::string describe_faults() {
  std::string text;
  for (const Kind& kind : kinds)
    text += std::string("  ") + kind.name + ":" + kind.keys + "\n      " + kind.what + "\n";
  return text;
}

const Fault* find_fault(const std::vector<Fault>& faults, const std::string& kind, int rank) {
  for (const Fault& fault : faults)
    if (fault.kind == kind && concerns(fault, rank)) return &fault;
  return nullptr;
}

double compute_factor(const std::vector<Fault>& faults, int rank, int step) {
  double factor = 1;
  for (const Fault& fault : faults)
    if (fault.kind == "slow_rank" && concerns(fault, rank) && fault.active(step)) factor *= fault.ratio("factor", 1.3);
  return factor;
}

double launch_factor(const std::vector<Fault>& faults, int rank, int step) {
  double factor = 1;
  for (const Fault& fault : faults)
    if (fault.kind == "late_launch" && concerns(fault, rank) && fault.active(step)) factor *= fault.ratio("factor", 1);
  return factor;
}

std::int64_t launch_delay_ns(const std::vector<Fault>& faults, int rank, int step) {
  std::int64_t delay = 0;
  for (const Fault& fault : faults)
    if (fault.kind == "late_launch" && concerns(fault, rank) && fault.active(step))
      delay += 1000 * fault.number("delay_us", 0);
  return delay;
}

std::int64_t pause_ns(const std::vector<Fault>& faults, int rank, int step, int launch) {
  std::int64_t pause = 0;
  for (const Fault& fault : faults)
    if (fault.kind == "gc_pause" && concerns(fault, rank) && fault.number("step", step) == step &&
        fault.number("launch", 10) == launch)
      pause += static_cast<std::int64_t>(fault.ratio("ms", 20) * 1e6);
  return pause;
}

double link_factor(const std::vector<Fault>& faults, const std::vector<int>& members, bool across_hosts,
                   int ranks_per_host, int step) {
  const auto holds = [&](std::int64_t rank) {
    return std::find(members.begin(), members.end(), static_cast<int>(rank)) != members.end();
  };
  const auto touches = [&](std::int64_t host) {
    return std::any_of(members.begin(), members.end(), [&](int rank) { return rank / ranks_per_host == host; });
  };
  double factor = 1;
  for (const Fault& fault : faults) {
    if (!fault.active(step)) continue;
    const bool hit = (fault.kind == "slow_link" && holds(fault.number("a", 0)) && holds(fault.number("b", 1))) ||
                     (fault.kind == "slow_host" && across_hosts && touches(fault.number("host", 0)));
    if (hit) factor *= fault.ratio("factor", 4);
  }
  return factor;
}

bool is_missing(const std::vector<Fault>& faults, int rank) {
  for (const Fault& fault : faults)
    if (fault.kind == "missing" && fault.number("rank", -1) == rank) return true;
  return false;
}

}  // namespace synth
