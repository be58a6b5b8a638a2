// What every GPU event is for in the training: micro-batch and virtual stage, phase, and one category (configs/
// megatron.yaml, configs/torchtitan.yaml). In: a finished trace with its launch context. Out: parallel arrays by event
// row, and the micro-batches of each step. Local stage; shared by the metric microbatch, the event table and the
// timeline export. 14 bytes an event.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "discover/workload.hpp"
#include "metrics/phases.hpp"

namespace ccl {

enum class Direction : std::uint8_t { forward, backward, weight };

/// One category per event. Communication is told by its dimension wherever it was launched, except that of the
/// gradient norm and of the loss; other kernels by what they were launched for. other: launched outside all of these;
/// unclassified: nothing in the trace tells (no launch, or no slice that could).
enum class WorkCategory : std::uint8_t {
  forward, backward, recompute, optimizer, grad_norm, loss, data_loading, dp_communication, pp_communication,
  tp_communication, ep_communication, cp_communication, other_communication, memory, other, unclassified
};
inline constexpr std::size_t category_count = 16;

/// Where an event was launched, whatever kind it is.
enum class TrainingPhase : std::uint8_t {
  forward, backward, recompute, optimizer, grad_norm, loss, data_loading, other, unclassified
};
inline constexpr std::size_t training_phase_count = 9;

/// By what the phase is known: a Python function around the launch (with_stack), an annotation or operator around it,
/// the micro-batch whose time it falls into on another thread, the autograd thread and optimizer slices (phases.hpp),
/// the pipeline message's place between micro-batches; none.
enum class Evidence : std::uint8_t { none, python, annotation, micro_batch, autograd, neighbour };
inline constexpr std::size_t evidence_count = 6;

/// How the numbers of micro-batches were found: in the slices' names, by counting, by counting in the order of the
/// interleaved schedule; or there was no slice of a micro-batch: stretches of launches between threads and messages.
enum class NumberSource : std::uint8_t { none, name, order, interleaved_order, launch_order };

std::string_view to_text(Direction);
std::string_view to_text(WorkCategory);
std::string_view to_text(TrainingPhase);
std::string_view to_text(Evidence);
std::string_view to_text(NumberSource);

struct MicroBatch {
  std::int64_t start_ns = 0, end_ns = 0;  // of its launches, CPU
  std::int32_t step = -1;                 // row of RankTrace::steps
  std::int32_t number = -1, chunk = -1;   // −1 unknown
  Direction direction = Direction::forward;
  bool woven = false;                     // shares its time with one of the other direction
};

struct EventRoles {
  bool known = false;  // false: nothing tells phases apart; all are unclassified
  std::vector<TrainingPhase> phase;
  std::vector<WorkCategory> category;
  std::vector<Evidence> evidence;
  std::vector<std::int32_t> microbatch;    // row of microbatches; −1 = in none
  std::vector<MicroBatch> microbatches;    // by (step, start)
  NumberSource numbers = NumberSource::none;
  std::int32_t chunks_count = 1;           // virtual stages a rank
};

EventRoles event_roles(const RankTrace& trace, const LaunchContext& launches, const TracePhases& phases,
                       const TrainingRules& rules, const Workload& workload);

/// The same without an own launch context and phases.
EventRoles event_roles(const RankTrace& trace, const Classifier& classifier, const Workload& workload);

/// Numbers and virtual stages of the micro-batches of one direction of one step, in the order they ran: Megatron's
/// interleaved schedule runs groups of `stages` micro-batches through the chunks; chunks 1: they are counted.
void number_in_order(const std::vector<MicroBatch*>& ordered, std::int32_t stages, std::int32_t chunks);

/// Numbers of all micro-batches and the virtual stages a rank: from names where all of a direction have them, else
/// counted by number_in_order, or within each chunk where names tell that. stage: −1 unknown.
void number_microbatches(EventRoles& roles, const Workload& workload, std::int32_t steps_count, std::int32_t stage,
                         std::int32_t stages);

/// Virtual stages a rank: from the workload; from the number of micro-batches; from how many forwards a stage runs
/// before its first backward (1F1B: stages − stage; interleaved: 2 (stages − stage − 1) + (chunks − 1) stages + 1); 1.
std::int32_t count_chunks(const Workload& workload, std::int64_t forwards_count, std::int64_t before_backward_count,
                          std::int32_t stage, std::int32_t stages);

}  // namespace ccl
