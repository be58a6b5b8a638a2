#include "metrics/hardware.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <sstream>

#include <yaml-cpp/yaml.h>

#include "core/lower_case.hpp"
#include "parse/config_files.hpp"

namespace ccl {
namespace {

/// Not where a letter or digit stands before it (h200 in gh200), nor a digit behind it (a100 in a1000).
bool has_word(const std::string& name, const std::string& word) {
  const auto is_digit = [&](std::size_t at) {
    return at < name.size() && std::isdigit(static_cast<unsigned char>(name[at])) != 0;
  };
  for (std::size_t at = name.find(word); at != std::string::npos; at = name.find(word, at + 1)) {
    const bool begins = at == 0 || std::isalnum(static_cast<unsigned char>(name[at - 1])) == 0;
    if (begins && !is_digit(at + word.size())) return true;
  }
  return false;
}

bool has_all_words(const std::string& name, const std::string& words) {
  std::istringstream in(words);
  for (std::string word; in >> word;)
    if (!has_word(name, word)) return false;
  return !words.empty();
}

/// The table of a text. The last one is kept: reading it takes a millisecond, and it is asked for again and again.
const YAML::Node& table_of(const std::string& yaml) {
  thread_local std::pair<std::string, YAML::Node> last;
  if (last.first != yaml) {
    last.second.reset(YAML::Load(yaml));
    last.first = yaml;
  }
  return last.second;
}

double number(const YAML::Node& node, const std::string& where) {
  const double value = node.IsScalar() ? node.as<double>(std::nan("")) : std::nan("");
  if (value > 0 && std::isfinite(value)) return value;
  throw FatalError(ExitCode::bad_request, "hardware settings of " + where + " (not a number above 0) "
                                          "See configs/README.md.");
}

void take_peaks(const YAML::Node& entry, const std::string& source, std::map<std::string, Peak>& peaks) {
  for (const std::string& name : peak_names())
    if (const YAML::Node value = entry[name]; value.IsDefined() && !value.IsNull())
      peaks[name] = {number(value, source + ", " + name), source};
}

void take_card(const std::string& name, const Sourced<double>& card, std::map<std::string, Peak>& peaks) {
  if (!card || *card.value <= 0) return;
  const auto [at, added] = peaks.try_emplace(name, Peak{*card.value, card.source});
  if (!added && std::abs(at->second.value - *card.value) > 0.05 * *card.value) at->second.disagreeing = *card.value;
}

}  // namespace

const std::vector<std::string>& peak_names() {
  static const std::vector<std::string> names{"bf16_flops_per_s",   "fp8_flops_per_s",  "tf32_flops_per_s",
                                              "memory_bytes_per_s", "link_bytes_per_s", "nic_bytes_per_s"};
  return names;
}

Peak Hardware::peak(const std::string& name) const {
  const auto at = peaks.find(name);
  return at == peaks.end() ? Peak() : at->second;
}

Peak Hardware::link(LinkClass link_class) const {
  if (link_class == LinkClass::unknown) return {};
  return peak(link_class == LinkClass::intra ? "link_bytes_per_s" : "nic_bytes_per_s");
}

Hardware recognise_hardware(const std::string& yaml, std::string_view gpu, const std::vector<std::string>& hosts,
                            const Workload& workload, const std::map<std::string, double>& chosen) {
  Hardware out;
  const YAML::Node& table = table_of(yaml);
  const std::string name = lower_case(gpu);
  for (const auto& entry : table["gpus"]) {
    const YAML::Node match = entry.second["match"];
    const bool fits = std::any_of(match.begin(), match.end(), [&](const YAML::Node& words) {
      return has_all_words(name, lower_case(words.as<std::string>("")));
    });
    if (!fits) continue;
    out.gpu = entry.first.as<std::string>();
    take_peaks(entry.second, out.gpu, out.peaks);
    break;
  }
  for (const auto& entry : table["systems"]) {
    const auto of_gpu = entry.second["gpu"].as<std::string>(""), prefix = entry.second["hosts"].as<std::string>("");
    if (hosts.empty() || prefix.empty() || out.gpu.rfind(of_gpu, 0) != 0) continue;
    if (!std::all_of(hosts.begin(), hosts.end(), [&](const std::string& h) { return h.rfind(prefix, 0) == 0; })) continue;
    out.system = entry.first.as<std::string>();
    take_peaks(entry.second, out.system, out.peaks);
    break;
  }
  take_card("link_bytes_per_s", workload.scale_up_bytes_per_s, out.peaks);
  take_card("nic_bytes_per_s", workload.scale_out_bytes_per_s, out.peaks);
  for (const auto& [peak, value] : chosen) out.peaks[peak] = {value, "--peak"};
  return out;
}

void check_hardware_settings(const std::string& yaml) {
  const YAML::Node& table = table_of(yaml);
  for (const char* section : {"gpus", "systems"})
    for (const auto& entry : table[section]) {
      std::map<std::string, Peak> ignored;
      const auto name = entry.first.as<std::string>();
      if (!entry.second.IsMap())
        throw FatalError(ExitCode::bad_request, "hardware settings of " + name + " (no map of keys). See configs/README.md.");
      take_peaks(entry.second, name, ignored);
    }
}

Hardware find_hardware(const ReportContext& context) {
  std::string gpu;
  std::vector<std::string> hosts;
  for (const RankEntry& entry : context.ranks.entries) {
    if (gpu.empty()) gpu = entry.facts.gpu;
    const bool named = entry.host_source == HostSource::content || entry.host_source == HostSource::option ||
                       entry.host_source == HostSource::file_name;
    if (named) hosts.push_back(entry.host);
  }
  if (gpu.empty()) gpu = context.workload.gpu_model.value.value_or("");
  return recognise_hardware(merged_settings("hardware", context.config), gpu, hosts, context.workload,
                            context.config.peaks);
}

}  // namespace ccl
