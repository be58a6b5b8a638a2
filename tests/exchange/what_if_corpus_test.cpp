// A published what-if analysis: the slowdowns that its authors state of an 8-GPU pipeline job are what replay and ideal
// times give, in the published form, from the table of operations that they publish beside it.
#include <gtest/gtest.h>
#include <simdjson.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>
#include <tuple>

#include "exchange/graph_ideal.hpp"
#include "exchange/graph_ops.hpp"
#include "support/numbered.hpp"
#include "support/real_traces.hpp"

namespace ccl {
namespace {

namespace fs = std::filesystem;

fs::path sample() { return test::real_traces() / "given" / "bytedance-ST"; }

std::string gunzip(const fs::path& path) {
  std::string text;
  char buffer[1 << 16];
  gzFile file = gzopen(path.c_str(), "rb");
  for (int got = 0; (got = gzread(file, buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<std::size_t>(got));
  gzclose(file);
  return text;
}

using Name = std::tuple<std::string, int, int>;  // type of operation, its number in the step, stage

struct Operation {
  int step = 0, dp_rank = 0, stage = 0, number = 0;
  std::string type;
  std::int64_t start_ns = 0, end_ns = 0;
  Name name() const { return {type, number, stage}; }
  bool computes() const {
    return type == "forward-compute" || type == "backward-compute" || type == "optimizer" || type == "gc";
  }
};

std::vector<Operation> operations() {
  simdjson::dom::parser parser;
  const std::string text = gunzip(sample() / "timeline-ST.json.gz");
  const simdjson::dom::array events = parser.parse(text);
  std::map<std::int64_t, int> stage_of_thread;
  for (const simdjson::dom::element event : events)
    if (std::string_view(event["name"]) == "thread_name")
      stage_of_thread[event["tid"]] =
          std::atoi(std::string(std::string_view(event["args"]["name"])).substr(std::string("PP rank ").size()).c_str());
  std::vector<Operation> all;
  for (const simdjson::dom::element event : events) {
    if (std::string_view(event["ph"]) != "X") continue;
    Operation op;
    op.step = static_cast<int>(std::int64_t(event["args"]["step"]));
    op.number = static_cast<int>(std::int64_t(event["args"]["seq_id"]));
    op.dp_rank = static_cast<int>(std::int64_t(event["pid"]));
    op.stage = stage_of_thread.at(event["tid"]);
    op.type = std::string(std::string_view(event["name"]));
    op.start_ns = std::llround(double(event["ts"]) * 1000);
    op.end_ns = op.start_ns + std::llround(double(event["dur"]) * 1000);
    all.push_back(op);
  }
  return all;
}

/// What waits for what in one pipeline, as the study has it: one stream of compute per stage and one per kind of send and
/// receive; a send waits for its compute, a compute for its receive, that for the compute before. The order is that of
/// the first step.
class Dependencies {
 public:
  explicit Dependencies(std::vector<Operation> pipeline) {
    std::sort(pipeline.begin(), pipeline.end(), [](const Operation& a, const Operation& b) {
      return std::tuple(a.start_ns, a.number) < std::tuple(b.start_ns, b.number);
    });
    std::set<int> stages;
    for (const Operation& op : pipeline) stages.insert(op.stage);
    for (const int stage : stages) of_stage(pipeline, stage);
  }
  const std::set<Name>& of(const Name& name) { return before_[name]; }

 private:
  void of_stage(const std::vector<Operation>& pipeline, int stage) {
    std::vector<Operation> compute;
    std::map<std::string, Name> last;  // by stream
    const auto chain = [&](const std::string& stream, const Name& name) {
      if (last.count(stream) > 0) before_[name].insert(last.at(stream));
      last[stream] = name;
    };
    for (const Operation& op : pipeline) {
      if (op.stage != stage) continue;
      const bool send = op.type == "forward-send" || op.type == "backward-send";
      const bool receive = op.type == "forward-recv" || op.type == "backward-recv";
      if (op.type == "forward-compute" || op.type == "backward-compute") compute.push_back(op), chain("", op.name());
      if (send || receive) {
        chain(op.type, op.name());
        const std::string type = op.type.substr(0, op.type.find('-')) + "-compute";
        if (send) before_[op.name()].insert({type, op.number, stage});
        if (receive) before_[{type, op.number, stage}].insert(op.name());
        if (receive && op.number > 0) before_[op.name()].insert({type, op.number - 1, stage});
      }
    }
    before_[{"forward-compute", 0, stage}].insert({"params-all-gather", 0, stage});
    const auto backward = std::find_if(compute.begin(), compute.end(),
                                       [](const Operation& op) { return op.type == "backward-compute"; });
    if (backward - compute.begin() >= 2)
      for (const char* type : {"backward-recv", "backward-send"}) before_[{type, 0, stage}].insert((backward - 2)->name());
    for (const char* type : {"gc", "layernorm-grads-all-reduce", "embedding-grads-all-reduce", "grads-reduce-scatter",
                             "optimizer-clip-main-grad", "optimizer"})
      if (std::any_of(pipeline.begin(), pipeline.end(),
                      [&](const Operation& op) { return op.stage == stage && op.type == type; }))
        chain("", {type, 0, stage});
  }

  std::map<Name, std::set<Name>> before_;
};

/// Who leaves together: the two ends of a transfer; the data-parallel ranks of a stage; all ranks where gradients are
/// clipped; first and last stage of a pipeline where gradients of the embedding are reduced. Empty: nobody.
std::string group_of(const Operation& op) {
  const std::string pipeline = test::numbered(" ", op.dp_rank), stage = test::numbered(" ", op.stage);
  const std::string number = test::numbered(" ", op.number), step = test::numbered(" ", op.step);
  const auto between = [&](const char* what, int from) {
    return what + pipeline + number + " " + std::to_string(from) + step;
  };
  if (op.type == "forward-send") return between("forward", op.stage);
  if (op.type == "forward-recv") return between("forward", op.stage - 1);
  if (op.type == "backward-send") return between("backward", op.stage);
  if (op.type == "backward-recv") return between("backward", op.stage + 1);
  if (op.type == "params-all-gather" || op.type == "grads-reduce-scatter") return op.type + stage + number + step;
  if (op.type == "embedding-grads-all-reduce") return op.type + pipeline + step;
  if (op.type == "optimizer-clip-main-grad") return op.type + step;
  return "";
}

/// All steps in one graph: nothing connects them, and ideal durations are those of all steps.
struct Study {
  std::vector<Operation> ops = operations();
  MeasuredGraph graph{graph_of({}, {0}, {})};
  GraphTimes ideal;

  Study() {
    std::sort(ops.begin(), ops.end(), [](const Operation& a, const Operation& b) {
      return std::tuple(a.step, a.dp_rank, a.name()) < std::tuple(b.step, b.dp_rank, b.name());
    });
    std::vector<Operation> pipeline;
    for (const Operation& op : ops)
      if (op.step == ops.front().step && op.dp_rank == 0) pipeline.push_back(op);
    Dependencies dependencies(pipeline);
    std::map<std::tuple<int, int, Name>, std::uint32_t> place;
    for (std::size_t i = 0; i < ops.size(); ++i)
      place[{ops[i].step, ops[i].dp_rank, ops[i].name()}] = static_cast<std::uint32_t>(i);
    std::vector<std::uint32_t> first_pred{0}, preds;
    std::map<std::string, std::uint64_t> groups;
    std::map<std::string, std::int32_t> types;
    std::vector<test::MadeOp> made;
    Peers peers;
    for (const Operation& op : ops) {
      for (const Name& before : dependencies.of(op.name())) preds.push_back(place.at({op.step, op.dp_rank, before}));
      first_pred.push_back(static_cast<std::uint32_t>(preds.size()));
      test::MadeOp& out = made.emplace_back();
      out.start_ns = op.start_ns;
      out.end_ns = op.end_ns;
      out.rank_row = op.dp_rank;
      out.kind = op.computes() ? EventKind::compute : EventKind::communication;
      if (const std::string group = group_of(op); !group.empty())
        out.instance = groups.emplace(group, groups.size() + 1).first->second;
      const std::int32_t type = types.emplace(op.type, static_cast<std::int32_t>(types.size())).first->second;
      peers.run.push_back(op.computes() ? type : -1);
      peers.transfer.push_back(op.computes() ? -1 : type);
      peers.launch.push_back(-1);
    }
    graph = MeasuredGraph(graph_of(test::step_of(made), first_pred, preds));
    graph.measured.gap_ns.assign(graph.size(), 0);  // the study replays without launch delays
    ideal = ideal_times(graph, peers, IdealForm::mean);
  }

  std::map<int, double> seconds_by_step(const GraphTimes& times) const {
    const Replay replayed = replay(graph, times);
    std::map<int, double> seconds;
    for (std::size_t i = 0; i < ops.size(); ++i)
      seconds[ops[i].step] = std::max(seconds[ops[i].step], static_cast<double>(replayed.end_ns[i]) / 1e9);
    return seconds;
  }
  double mean_seconds(const GraphTimes& times) const {
    double sum = 0;
    const std::map<int, double> seconds = seconds_by_step(times);
    for (const auto& [step, s] : seconds) sum += s;
    return sum / static_cast<double>(seconds.size());
  }
  /// S of some operations: all others are ideal.
  template <class Wanted>
  double slowdown_of(Wanted wanted) const {
    const auto run = [&](std::size_t i) { return wanted(ops[i]); };
    return mean_seconds(changed_times(ideal, graph.measured, run, [](std::size_t) { return false; })) / mean_seconds(ideal);
  }
};

class WhatIfCorpus : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(sample())) GTEST_SKIP() << test::no_real_traces;
    stated_ = parser_.load((sample() / "result-ST.json").string());
  }
  simdjson::dom::parser parser_;
  simdjson::dom::element stated_;
};

TEST_F(WhatIfCorpus, SlowdownsOfThePublishedJobAreAsPublished) {
  const Study study;
  ASSERT_TRUE(study.graph.cut.empty());
  const double slowdown = study.mean_seconds(study.graph.measured) / study.mean_seconds(study.ideal);
  std::printf("S = %.7f, published %.7f\n", slowdown, double(stated_["blocking_slowdown"]));
  EXPECT_NEAR(slowdown, stated_["blocking_slowdown"], 2e-6);
  const auto compare = [&](const char* key, auto name_of) {
    for (const auto& [name, published] : simdjson::dom::object(stated_[key])) {
      const double own = study.slowdown_of([&, n = std::string(name)](const Operation& op) { return name_of(op) == n; });
      EXPECT_NEAR(own, double(published), 5e-6) << key << " " << name;
    }
  };
  compare("blocking_decompose_by_optype", [](const Operation& op) {
    const std::string direction = op.type.substr(0, op.type.find('-'));  // sends and receives are published as one
    return op.type == direction + "-send" || op.type == direction + "-recv" ? direction + "-pp-comm" : op.type;
  });
  compare("blocking_decompose_by_dp_rank", [](const Operation& op) { return std::to_string(op.dp_rank); });
  compare("blocking_decompose_by_stage", [](const Operation& op) { return std::to_string(op.stage); });
}

TEST_F(WhatIfCorpus, EveryStepOfThePublishedJobIsAsLongAsPublished) {
  const Study study;
  const auto compare = [&](const char* key, const GraphTimes& times) {
    const std::map<int, double> seconds = study.seconds_by_step(times);
    EXPECT_EQ(simdjson::dom::object(stated_[key]).size(), seconds.size());
    for (const auto& [step, published] : simdjson::dom::object(stated_[key]))
      EXPECT_NEAR(seconds.at(std::atoi(std::string(step).c_str())), double(published), 5e-6) << key << " " << step;
  };
  compare("step_t_nodelay", study.graph.measured);
  compare("step_t_noblk", study.ideal);
}

}  // namespace
}  // namespace ccl
