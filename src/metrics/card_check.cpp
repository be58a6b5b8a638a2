#include "metrics/card_check.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <tuple>

#include "core/lower_case.hpp"
#include "metrics/format.hpp"
#include "metrics/hardware.hpp"

namespace ccl {
namespace {

/// Model numbers: the words of a name that hold a digit ("a100", "40gb").
std::vector<std::string> model_numbers(std::string_view name) {
  std::vector<std::string> all;
  std::string word;
  const auto end_word = [&] {
    if (word.find_first_of("0123456789") != std::string::npos) all.push_back(word);
    word.clear();
  };
  for (const char c : lower_case(name)) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      word += c;
    else
      end_word();
  }
  end_word();
  return all;
}

class CardCheck {
 public:
  CardCheck(const ReportContext& context, Problems& problems) : context_(context), problems_(problems) {}

  void gpus() {
    const Sourced<std::int64_t>& total = context_.workload.gpus_total;
    const std::int64_t world = context_.ranks.world_size;
    if (total && world > 0 && *total.value != world)
      say("it counts " + std::to_string(*total.value) + " GPUs, the traces are of " + std::to_string(world) + " ranks");
    const NodeGpus in_node = gpus_in_node(context_.ranks.entries);
    const Sourced<std::int64_t>& per_node = context_.workload.gpus_per_node;
    // A process that is shown one GPU tells nothing of its node.
    if (per_node && in_node.count > 1 && *per_node.value != in_node.count)
      say("it counts " + std::to_string(*per_node.value) + " GPUs in a node, the traces list " +
          std::to_string(in_node.count) + (in_node.of_damaged ? " (all of them are damaged)" : ""));
  }

  /// More ranks on a host than it has GPUs cannot be; fewer, on several hosts, are left out by the map's writer alone.
  void hosts() {
    const Sourced<std::int64_t>& per_node = context_.workload.gpus_per_node;
    if (!per_node) return;
    std::map<std::tuple<std::int32_t, std::int32_t, std::string>, std::int64_t> traced;
    std::map<std::string, std::int64_t> mapped;
    for (const RankEntry& entry : context_.ranks.entries)
      if (entry.host_source == HostSource::content || entry.host_source == HostSource::file_name)
        ++traced[{entry.iteration, entry.replica, entry.host}];
    for (const auto& [rank, host] : context_.ranks.host_map) ++mapped[host];
    std::int64_t of_traces = 0, of_map = 0;
    for (const auto& [host, count] : traced) of_traces = std::max(of_traces, count);
    for (const auto& [host, count] : mapped) of_map = std::max(of_map, count);
    const bool wide = mapped.size() > 1 && of_map < *per_node.value;
    const std::string counts = "it counts " + std::to_string(*per_node.value) + " GPUs in a node, ";
    if (of_map > *per_node.value || wide)
      say(counts + "--host-map has " + std::string(wide ? "at most " : "") + counted(static_cast<std::size_t>(of_map), "rank") + " on a host");
    if (of_traces > *per_node.value) say(counts + "the traces have " + std::to_string(of_traces) + " ranks on a host");
  }

  void model() {
    const Sourced<std::string>& card = context_.workload.gpu_model;
    std::string gpu;
    for (const RankEntry& entry : context_.ranks.entries)
      if (gpu.empty()) gpu = entry.facts.gpu;
    if (!card || gpu.empty()) return;
    const std::string seen = lower_case(gpu);
    for (const std::string& number : model_numbers(*card.value))
      if (seen.find(number) == std::string::npos)
        return say("its GPU is \"" + *card.value + "\", that of the traces \"" + gpu + "\"");
  }

  void links() {
    const Hardware hardware = find_hardware(context_);
    for (const auto& [name, peak] : hardware.peaks)
      if (peak.disagreeing > 0)
        say("its " + std::string(name == "nic_bytes_per_s" ? "scale-out" : "scale-up") + " bandwidth is " +
            gigabytes_per_s(peak.disagreeing) + " one way, " + peak.source + " says " + gigabytes_per_s(peak.value) +
            ", which is used");
  }

 private:
  void say(std::string why) {
    Problem problem;
    problem.code = Code::card_disagrees;
    problem.file = context_.workload.card_file;
    problem.detail = std::move(why);
    problems_.add(std::move(problem));
  }

  const ReportContext& context_;
  Problems& problems_;
};

/// Groups of one kind have other sizes within it: Megatron's embedding groups, groups of experts, steps of a hierarchy.
bool is_part(const Group& group) {
  const std::string text = lower_case(group.description);
  for (const char* const word : {"embedding", "expert", "etp", "hierarchical"})
    if (text.find(word) != std::string::npos) return true;
  return false;
}

/// Sizes of the mesh against those of the groups that say what they are.
void compare_mesh(const ReportContext& context, Problems& problems) {
  const Workload& workload = context.workload;
  if (!workload.mesh.known()) return;
  const std::string& source = workload.mesh.source;
  const std::pair<Dimension, std::int32_t> sizes[] = {
      {Dimension::tp, workload.mesh.tp}, {Dimension::pp, workload.mesh.pp}, {Dimension::cp, workload.mesh.cp}};
  for (const auto& [dimension, size] : sizes)
    for (const Group& group : context.groups.groups) {
      if (group.dimension != dimension || group.dimension_source != "description" || is_part(group)) continue;
      if (group.size <= 0 || group.size == size) continue;
      Problem problem;
      problem.code = Code::card_disagrees;
      problem.file = source == "card"   ? workload.card_file
                     : source == "toml" ? workload.training_config_file
                     : workload.group_file.empty() ? "--megatron-args" : workload.group_file;
      problem.detail = std::string(to_text(dimension)) + " is " + std::to_string(size) + ", the traces have '" +
                       group.description + "' of " + counted(static_cast<std::size_t>(group.size), "rank");
      problems.add(std::move(problem));
      break;
    }
}

}  // namespace

void compare_card(const ReportContext& context, Problems& problems) {
  compare_mesh(context, problems);
  if (context.workload.card_file.empty() || context.ranks.entries.empty()) return;
  CardCheck check(context, problems);
  check.gpus();
  check.hosts();
  check.model();
  check.links();
}

}  // namespace ccl
