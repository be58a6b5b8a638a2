#include "execution_trace.hpp"

#include <algorithm>
#include <filesystem>

#include "kernel_names.hpp"
#include "kineto_events.hpp"
#include "messages.hpp"
#include "text_file.hpp"

namespace synth {
namespace {

class ExecutionTrace {
 public:
  ExecutionTrace(const Job& job, const Topology& topology, const JobRun& run, const FilePlan& plan, TextFile& out)
      : job_(job), topology_(topology), run_(run), plan_(plan), out_(out) {}

  void write() {
    out_ << "{\n  \"schema\": \"1.1.1-chakra.0.0.4\", \"pid\": " << 30'000 + plan_.rank
         << ", \"time\": \"2026-01-01 00:00:00\", \"start_ts\": 1,\n  \"nodes\": [\n";
    node("[pytorch|profiler|execution_trace|process]", root, root, R"("inputs": {"values": [], "shapes": [], "types": []},)"
         R"( "outputs": {"values": [], "shapes": [], "types": []})", "");
    const RankRun& own = run_.ranks[static_cast<std::size_t>(plan_.rank)];
    for (int s = plan_.first_step; s < plan_.end_step; ++s) {
      const RankStep& step = own.steps[static_cast<std::size_t>(s)];
      for (std::size_t i = step.first_op; i < step.end_op; ++i) {
        if (own.ops[i].instance >= 0)
          call(own.ops[i]);
        else
          computation(own.ops[i]);
      }
    }
    out_ << "\n  ],\n  \"finish_ts\": 2\n}\n";
  }

 private:
  static constexpr int root = 1;

  void node(const std::string& name, int id, int parent, const std::string& lists, const std::string& attributes) {
    out_ << (id == root ? "" : ",\n") << "    {\"id\": " << id << ", \"name\": \"" << name << "\", \"ctrl_deps\": " << parent
         << ", " << lists << ", \"attrs\": [{\"name\": \"rf_id\", \"type\": \"uint64\", \"value\": " << id << "}"
         << attributes << "]}";
  }

  void computation(const Op& op) {
    node(name_of(op.kernel).inner_op, ++id_, root, R"("inputs": {"values": [], "shapes": [], "types": []},)"
         R"( "outputs": {"values": [], "shapes": [], "types": []})", "");
  }

  std::string tensors(std::int64_t elements, ElementType type) {
    storage_ += 2;
    const std::string bytes = std::to_string(size_of(type)), shape = std::to_string(elements);
    return "{\"values\": [[[" + std::to_string(storage_) + ", " + std::to_string(storage_ + 1) + ", 0, " + shape + ", " +
           bytes + ", \"cuda:0\"]], SCALARS], \"shapes\": [[[" + shape + "]]SHAPES], \"types\": [\"GenericList[Tensor(" +
           (type == ElementType::float32 ? "float" : "c10::BFloat16") + ")]\"TYPES]}";
  }
  static std::string filled(std::string text, const char* mark, const std::string& with) {
    return text.replace(text.find(mark), std::string(mark).size(), with);
  }

  void call(const Op& op) {
    const Instance& instance = run_.instances[static_cast<std::size_t>(op.instance)];
    const Channel& channel = topology_.channels[static_cast<std::size_t>(instance.channel)];
    const Group& group = topology_.groups[static_cast<std::size_t>(channel.group)];
    const auto members = static_cast<int>(group.members.size());
    const auto position =
        static_cast<int>(std::find(group.members.begin(), group.members.end(), plan_.rank) - group.members.begin());
    const Volume volume = volume_of(job_, instance, members, op.collective, position);
    std::string sent = "[]", received = "[]";
    if (op.collective == Collective::all_to_allv) {
      const auto out = rows_sent(job_, instance, members, position), in = rows_received(job_, instance, members, position);
      sent = list_text(out, out.size()), received = list_text(in, in.size());
    }
    const std::string operation = name_of(op.collective).argument;
    std::string inputs = filled(tensors(volume.in_elements, instance.type), "SCALARS",
                                std::to_string(instance.sequence) + ", [\"" + group.name + "\", \"" + group.description +
                                    "\"], " + std::to_string(position) + ", \"" + operation + "\", " + sent + ", " + received);
    inputs = filled(inputs, "SHAPES", ", [], [[], []], [], [], [], []");
    inputs = filled(inputs, "TYPES", R"(, "Int", "Tuple[String,String]", "Int", "String", "GenericList[]", "GenericList[]")");
    std::string outputs = filled(tensors(volume.out_elements, instance.type), ", SCALARS", "");
    outputs = filled(filled(outputs, "SHAPES", ""), "TYPES", "");
    std::string attributes;
    const auto add = [&](const char* name, const char* type, const std::string& value) {
      attributes += std::string(", {\"name\": \"") + name + "\", \"type\": \"" + type + "\", \"value\": " + value + "}";
    };
    const auto quoted = [](const std::string& text) { return '"' + text + '"'; };
    add("collective_name", "string", quoted(operation));
    add("dtype", "string", quoted(name_of(instance.type)));
    add("in_msg_nelems", "uint64", std::to_string(volume.in_elements));
    add("out_msg_nelems", "uint64", std::to_string(volume.out_elements));
    add("in_split_size", "string", quoted(sent));
    add("out_split_size", "string", quoted(received));
    add("global_rank_start", "uint64", std::to_string(group.members.front()));
    add("global_rank_stride", "uint64", std::to_string(group.members[1] - group.members[0]));
    add("pg_name", "string", quoted(group.name));
    add("pg_desc", "string", quoted(group.description));
    add("pg_size", "uint64", std::to_string(members));
    const int outer = ++id_;
    node(name_of(op.collective).c10d, outer, root, R"("inputs": {"values": [], "shapes": [], "types": []},)"
         R"( "outputs": {"values": [], "shapes": [], "types": []})", "");
    node("record_param_comms", ++id_, outer, "\"inputs\": " + inputs + ", \"outputs\": " + outputs, attributes);
  }

  const Job& job_;
  const Topology& topology_;
  const JobRun& run_;
  const FilePlan& plan_;
  TextFile& out_;
  int id_ = root;
  std::int64_t storage_ = 100;
};

}  // namespace

std::string execution_trace_path(const FilePlan& plan) {
  return (std::filesystem::path(plan.path).parent_path() / ("torch_et_" + std::to_string(plan.rank) + ".json")).string();
}

void write_execution_trace(const Job& job, const Topology& topology, const JobRun& run, const FilePlan& plan) {
  TextFile out(execution_trace_path(plan), false);
  ExecutionTrace(job, topology, run, plan, out).write();
  out.close();
}

}  // namespace synth
