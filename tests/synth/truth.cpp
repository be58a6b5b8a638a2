#include "truth.hpp"

#include <algorithm>
#include <utility>

#include "kernel_names.hpp"
#include "kineto_events.hpp"
#include "simulate.hpp"
#include "snapshot.hpp"
#include "text_file.hpp"
#include "truth_values.hpp"

namespace synth {
namespace {

constexpr std::size_t most_kernels_listed = 400'000;

/// A table: {"columns": [...], "rows": [[...], ...]}.
class Table {
 public:
  Table(TextFile& out, std::string_view name, std::string_view columns) : out_(out) {
    out_ << ",\n\"" << name << "\": {\"columns\": " << columns << ", \"rows\": [";
  }
  ~Table() { out_ << "]}"; }
  template <class... Cells>
  void row(const Cells&... cells) {
    out_ << (is_first_ ? "\n[" : ",\n[");
    is_first_ = false;
    bool first = true;
    ((out_ << (std::exchange(first, false) ? "" : ","), cell(cells)), ...);
    out_ << "]";
  }

 private:
  void cell(std::string_view text) { out_ << '"' << text << '"'; }
  void cell(const char* text) { cell(std::string_view(text)); }
  void cell(const std::string& text) { cell(std::string_view(text)); }
  void cell(const std::vector<int>& list) { out_ << list_text(list, list.size()); }
  void cell(bool value) { out_ << (value ? "true" : "false"); }
  void cell(std::int64_t value) { out_ << value; }
  void cell(int value) { out_ << value; }
  void cell(std::size_t value) { out_ << value; }
  TextFile& out_;
  bool is_first_ = true;
};

class TruthWriter {
 public:
  TruthWriter(const Job& job, const Topology& topology, const JobRun& run, TextFile& out)
      : job_(job), topology_(topology), run_(run), out_(out) {
    for (int rank = 0; rank < job.mesh.world(); ++rank) clocks_.emplace_back(job, rank);
  }

  void write() {
    about();
    hosts();
    faults();
    groups();
    rank_steps();
    traffic();
    collectives();
    periods();
    hidden_periods();
    pipelines();
    passes();
    memory();
    memory_events();
    kernels();
    out_ << "\n}\n";
  }

 private:
  int world() const { return job_.mesh.world(); }
  template <class Visit>
  void each_visible_step(Visit visit) {
    for (int rank = 0; rank < world(); ++rank)
      for (int s = 0; s < job_.steps; ++s)
        if (is_visible(job_, rank, job_.first_step + s))
          visit(rank, job_.first_step + s,
                run_.ranks[static_cast<std::size_t>(rank)].steps[static_cast<std::size_t>(s)]);
  }

  void about() {
    const Mesh& m = job_.mesh;
    std::vector<int> present, missing;
    for (int rank = 0; rank < world(); ++rank) (is_missing(job_.faults, rank) ? missing : present).push_back(rank);
    out_ << "{\"version\": 1, \"seed\": " << static_cast<std::int64_t>(job_.seed) << ", \"preset\": \"" << job_.preset
         << "\",\n"
         << "\"mesh\": {\"pp\": " << m.pp << ", \"dp_replicate\": " << m.dp_replicate
         << ", \"dp_shard\": " << m.dp_shard << ", \"cp\": " << m.cp << ", \"tp\": " << m.tp << ", \"ep\": " << m.ep
         << "}, \"world_size\": " << world() << ",\n\"present_ranks\": " << list_text(present, present.size())
         << ", \"missing_ranks\": " << list_text(missing, missing.size()) << ",\n\"first_step\": " << job_.first_step
         << ", \"steps\": " << job_.steps << ", \"microbatches\": " << job_.microbatches
         << ", \"repeat\": " << job_.repeat
         << ", \"steps_per_iteration\": " << (job_.steps_per_iteration > 0 ? job_.steps_per_iteration : job_.steps)
         << ", \"ranks_per_host\": " << job_.ranks_per_host << ", \"tokens_per_step\": "
         << job_.model.local_batch * job_.model.seq * job_.microbatches * m.dp_replicate * m.dp_shard
         << ",\n\"parameters\": " << job_.model.parameters() << ", \"end_skew_ns\": " << job_.end_skew_ns
         << ", \"peers_named\": " << (job_.style == Style::old_names ? "false" : "true");
  }

  void hosts() {
    Table table(out_, "hosts", R"(["host","clock_offset_ns","clock_drift_ppb"])");
    for (int host = 0; host < job_.hosts(); ++host) {
      const HostClock clock = clock_of(job_, host);
      table.row(host, clock.offset_ns, clock.drift_ppb);
    }
  }

  void faults() {
    Table table(out_, "faults", R"(["kind","rank","from","factor","text"])");
    for (const Fault& fault : job_.faults) {
      std::string text;
      for (const auto& [key, value] : fault.values) text += (text.empty() ? "" : ",") + key + "=" + value;
      table.row(fault.kind, fault.number("rank", -1), fault.number("from", -1),
                std::to_string(fault.ratio("factor", 0)), text);
    }
  }

  void groups() {
    Table table(out_, "groups", R"(["group","name","description","dimension","members","across_hosts"])");
    for (std::size_t g = 0; g < topology_.groups.size(); ++g) {
      const Group& group = topology_.groups[g];
      table.row(g, group.name, group.description, group.dimension, group.members, group.across_hosts);
    }
  }

  void rank_steps() {
    Table table(
        out_, "rank_steps",
        R"(["rank","step","cpu_start_ns","cpu_end_ns","gpu_start_ns","gpu_end_ns","compute_ns","communication_ns",)"
        R"("overlap_ns","exposed_ns","memory_only_ns","idle_ns","busy_ns","kernels_count","communication_count",)"
        R"("gpu_events_count","communication_sum_ns"])");
    each_visible_step([&](int rank, int number, const RankStep& step) {
      const FileClock& clock = clocks_[static_cast<std::size_t>(rank)];
      const Budget b = budget_of(run_.ranks[static_cast<std::size_t>(rank)], step, clock);
      table.row(rank, number, clock.file_ns(step.cpu_start), clock.file_ns(step.cpu_end), b.gpu_start, b.gpu_end,
                b.compute, b.communication, b.overlap, b.exposed(), b.memory_only, b.idle, b.busy, b.kernels,
                b.communication_kernels, b.gpu_events, b.communication_sum);
    });
  }

  void traffic() {
    Table table(
        out_, "traffic",
        R"(["rank","step","dimension","op","calls_count","in_bytes","out_bytes","payload_bytes","wire_bytes","sum_ns"])");
    each_visible_step([&](int rank, int number, const RankStep& step) {
      for (const auto& [key, t] :
           traffic_of(job_, topology_, run_, rank, step, clocks_[static_cast<std::size_t>(rank)]))
        table.row(rank, number, key.first, key.second, t.calls, t.in_bytes, t.out_bytes, t.payload_bytes, t.wire_bytes,
                  t.sum_ns);
    });
  }

  void collectives() {
    std::vector<std::vector<Blame>> blame(static_cast<std::size_t>(world()),
                                          std::vector<Blame>(static_cast<std::size_t>(job_.steps)));
    {
      Table table(
          out_, "collectives",
          R"(["instance","step","group","op","sequence","dtype","transfer_ns","lag_ns","first_rank","last_rank",)"
          R"("delay_ns","wait_sum_ns","tie","members_seen","start_spread_ns","end_spread_ns","start_spread_file_ns",)"
          R"("source_rank","destination_rank"])");
      for (std::size_t i = 0; i < run_.instances.size(); ++i) {
        const Instance& instance = run_.instances[i];
        const Channel& channel = topology_.channels[static_cast<std::size_t>(instance.channel)];
        const Words w = words_of(job_, run_, instance, clocks_);
        if (is_symmetric(instance.op) && w.ranks.size() > 1) count(instance, w, blame);
        if (!job_.full_truth || w.ranks.empty()) continue;
        table.row(i, instance.step, channel.group, text_of(instance.op), instance.sequence, name_of(instance.type),
                  w.transfer, w.lag, w.first_rank, w.last_rank, w.delay, w.wait_sum, w.tie, w.ranks.size(),
                  w.start_spread, w.end_spread, w.start_spread_file, channel.source, channel.destination);
      }
    }
    Table table(
        out_, "blame",
        R"(["rank","step","blame_ns","blamed_wait_ns","wait_ns","times_last_count","times_first_count","instances_count"])");
    for (std::size_t rank = 0; rank < blame.size(); ++rank)
      for (std::size_t s = 0; s < blame[rank].size(); ++s) {
        const Blame& b = blame[rank][s];
        if (b.instances > 0)
          table.row(rank, job_.first_step + static_cast<int>(s), b.blame, b.blamed_wait, b.wait, b.times_last,
                    b.times_first, b.instances);
      }
  }

  void count(const Instance& instance, const Words& w, std::vector<std::vector<Blame>>& blame) const {
    const auto s = static_cast<std::size_t>(instance.step - job_.first_step);
    for (std::size_t m = 0; m < w.ranks.size(); ++m) {
      Blame& own = blame[static_cast<std::size_t>(w.ranks[m])][s];
      own.wait += w.durations[m] - w.transfer;
      ++own.instances;
    }
    Blame& last = blame[static_cast<std::size_t>(w.last_rank)][s];
    last.blame += w.delay, last.blamed_wait += w.wait_sum, ++last.times_last;
    ++blame[static_cast<std::size_t>(w.first_rank)][s].times_first;
  }

  /// Step times as planted, with one timing fault left out at a time, and without any.
  void periods() {
    Table table(out_, "periods", R"(["without_fault","step","period_ns"])");
    const auto list = [&](int which, const JobRun& run) {
      for (int step = job_.first_step; const auto period : step_periods(run)) table.row(which, step++, period);
    };
    list(-1, run_);
    if (!job_.full_truth) return;
    Job without = job_;
    if (std::erase_if(without.faults, changes_time) > 0) list(-2, simulate(without, topology_));
    for (std::size_t f = 0; f < job_.faults.size(); ++f) {
      if (!changes_time(job_.faults[f])) continue;
      without = job_;
      without.faults.erase(without.faults.begin() + static_cast<std::ptrdiff_t>(f));
      list(static_cast<int>(f), simulate(without, topology_));
    }
  }

  /// Step times as if the transfers of one dimension took no time.
  void hidden_periods() {
    Table table(out_, "hidden_periods", R"(["dimension","step","period_ns"])");
    if (!job_.full_truth) return;
    for (const auto& [dimension, periods] : hidden_periods_of(job_, topology_))
      for (int s = 0; const auto period : periods) table.row(dimension, job_.first_step + s++, period);
  }

  /// Per pipeline and step, true clock: window from the first forward to the last backward compute kernel.
  void pipelines() {
    Table table(out_, "pipelines",
                R"(["pipeline","step","stage","rank","window_ns","bubble_ns","pp_wait_ns","idle_ns"])");
    if (job_.mesh.pp < 2) return;
    for (const Group& group : topology_.groups)
      if (group.dimension == "pp")
        for (int s = 0; s < job_.steps; ++s) pipeline_step(table, group, static_cast<std::size_t>(s));
  }

  void pipeline_step(Table& table, const Group& group, std::size_t s) {
    std::int64_t from = 0, until = 0;
    for (const int rank : group.members)
      for (const Op& op : ops_of(rank, s)) {
        if (op.instance >= 0) continue;
        if (op.phase == Phase::forward && (from == 0 || op.start < from)) from = op.start;
        if (op.phase == Phase::backward || op.phase == Phase::weight || op.phase == Phase::recompute)
          until = std::max(until, op.end);
      }
    for (std::size_t stage = 0; stage < group.members.size(); ++stage) {
      std::vector<std::pair<std::int64_t, std::int64_t>> working, anything;
      for (const Op& op : ops_around(group.members[stage], s)) {
        const std::pair<std::int64_t, std::int64_t> piece{std::max(op.start, from), std::min(op.end, until)};
        if (piece.first >= piece.second) continue;
        anything.push_back(piece);
        const bool waits = op.instance >= 0 && op.queue >= pp_queue && op.queue <= from_previous_queue;
        if (!waits) working.push_back(piece);
      }
      const std::int64_t bubble = until - from - length_of(working), idle = until - from - length_of(anything);
      table.row(group.name, job_.first_step + static_cast<int>(s), stage, group.members[stage], until - from, bubble,
                bubble - idle, idle);
    }
  }

  /// Of the neighbouring steps too: a stage may still be busy with the last one when another begins the next.
  std::vector<Op> ops_around(int rank, std::size_t s) const {
    std::vector<Op> all;
    for (std::size_t k = s == 0 ? 0 : s - 1; k <= s + 1 && k < static_cast<std::size_t>(job_.steps); ++k)
      for (const Op& op : ops_of(rank, k)) all.push_back(op);
    return all;
  }

  std::vector<Op> ops_of(int rank, std::size_t s) const {
    const RankRun& own = run_.ranks[static_cast<std::size_t>(rank)];
    return {own.ops.begin() + static_cast<std::ptrdiff_t>(own.steps[s].first_op),
            own.ops.begin() + static_cast<std::ptrdiff_t>(own.steps[s].end_op)};
  }
  static std::int64_t length_of(std::vector<std::pair<std::int64_t, std::int64_t>> pieces) {
    std::sort(pieces.begin(), pieces.end());
    std::int64_t length = 0, covered = pieces.empty() ? 0 : pieces.front().first;
    for (const auto& [start, end] : pieces)
      if (end > covered) length += end - std::max(start, covered), covered = end;
    return length;
  }

  /// Serving: the marker of each forward pass, file clock.
  void passes() {
    Table table(out_, "passes", R"(["rank","step","kind","start_ns","end_ns"])");
    if (!job_.serves()) return;
    each_visible_step([&](int rank, int number, const RankStep& step) {
      const RankRun& own = run_.ranks[static_cast<std::size_t>(rank)];
      const FileClock& clock = clocks_[static_cast<std::size_t>(rank)];
      for (std::size_t s = step.first_span; s < step.end_span; ++s)
        if (own.spans[s].kind == Span::forward)
          table.row(
              rank, number, number == job_.first_step ? "prefill" : "decode",
              clock.file_ns(own.ops[step.first_op + static_cast<std::size_t>(own.spans[s].first_op)].cpu_start - 1),
              clock.file_ns(own.ops[step.first_op + static_cast<std::size_t>(own.spans[s].last_op)].cpu_end + 1));
    });
  }

  void memory() {
    if (!job_.memory) return;
    std::vector<RankMemory> ranks;
    for (int rank = 0; rank < job_.mesh.world(); ++rank)
      ranks.push_back(simulate_memory(job_, run_.ranks[static_cast<std::size_t>(rank)], rank));
    const auto each = [&](auto&& call) {
      for (int rank = 0; rank < job_.mesh.world(); ++rank)
        if (!is_missing(job_.faults, rank)) call(rank, ranks[static_cast<std::size_t>(rank)]);
    };
    {
      Table table(out_, "memory",
                  R"(["rank","active","requested","reserved","peak_active","peak_requested","peak_reserved","peak_us",)"
                  R"("entries","segments","out_of_memory"])");
      each([&](int rank, const RankMemory& m) {
        const MemoryPeaks peaks = peaks_of(m);
        table.row(rank, m.allocator.active(), m.allocator.requested(), m.allocator.reserved(), peaks.active,
                  peaks.requested, peaks.reserved, peaks.time_us, m.allocator.history().size() - m.first_entry,
                  m.allocator.segments().size(), rank == job_.memory_oom_rank ? 1 : 0);
      });
    }
    if (job_.memory_ring > 0) return;
    {
      Table table(out_, "memory_steps", R"(["rank","step","first_us","last_us","peak_active"])");
      each([&](int rank, const RankMemory& m) {
        for (const PlantedStep& step : m.steps)
          table.row(rank, step.number, step.first_us, step.last_us, peaks_of(m, step).active);
      });
    }
    Table table(out_, "memory_sites", R"(["rank","function","at_peak","at_end"])");
    each([&](int rank, const RankMemory& m) {
      for (const SiteBytes& site : sites_of(m)) table.row(rank, site.function, site.at_peak, site.at_end);
    });
  }

  /// Most that was in use and taken at the [memory] instants of each step.
  void memory_events() {
    if (!job_.memory_events) return;
    Table table(out_, "memory_events", R"(["rank","step","peak_allocated","peak_reserved","events"])");
    std::vector<RankMemory> ranks;
    for (int rank = 0; rank < world(); ++rank)
      ranks.push_back(simulate_memory(job_, run_.ranks[static_cast<std::size_t>(rank)], rank));
    each_visible_step([&](int rank, int number, const RankStep& step) {
      const FileClock& clock = clocks_[static_cast<std::size_t>(rank)];
      std::int64_t allocated = 0, reserved = 0, events = 0;
      for (const HistoryEntry& entry : ranks[static_cast<std::size_t>(rank)].allocator.history()) {
        const std::int64_t time = entry.time_us * 1000;
        if (!entry.changes_use() || time < clock.file_ns(step.cpu_start) || time >= clock.file_ns(step.cpu_end)) continue;
        allocated = std::max(allocated, entry.active), reserved = std::max(reserved, entry.reserved), ++events;
      }
      table.row(rank, number, allocated, reserved, events);
    });
  }

  /// What the operation is for, one word: communication goes by its dimension, except that of the gradient norm.
  std::string category_of(const Op& op) const {
    if (op.instance >= 0) {
      const Instance& instance = run_.instances[static_cast<std::size_t>(op.instance)];
      const Channel& channel = topology_.channels[static_cast<std::size_t>(instance.channel)];
      if (op.phase == Phase::optimizer && instance.in_elements == 1) return "grad_norm";
      return std::string(topology_.groups[static_cast<std::size_t>(channel.group)].dimension).append("_communication");
    }
    if (op.kernel == Kernel::copy_to_device || op.kernel == Kernel::clear) return "memory";
    if (op.kernel == Kernel::norm_reduce || op.kernel == Kernel::clip) return "grad_norm";
    if (op.kernel == Kernel::loss) return "loss";
    return op.phase == Phase::weight ? "backward" : text_of(op.phase);
  }

  void kernels() {
    Table table(out_, "kernels",
                R"(["rank","step","correlation","phase","microbatch","layer","start_ns","end_ns","launch_ns","category","chunk"])");
    std::size_t count = 0;
    for (const RankRun& rank : run_.ranks) count += rank.ops.size();
    if (!job_.full_truth || count > most_kernels_listed) return;
    each_visible_step([&](int rank, int number, const RankStep& step) {
      const RankRun& own = run_.ranks[static_cast<std::size_t>(rank)];
      const FileClock& clock = clocks_[static_cast<std::size_t>(rank)];
      // Every file counts its operations from 0.
      const int index = number - job_.first_step, length = job_.steps_per_iteration;
      const int first = length > 0 && job_.format == Format::kineto ? index / length * length : 0;
      const std::size_t before = own.steps[static_cast<std::size_t>(first)].first_op;
      for (std::size_t i = step.first_op; i < step.end_op; ++i) {
        const Op& op = own.ops[i];
        table.row(rank, number, KinetoEvents::correlation({0, static_cast<std::int64_t>(i - before)}), text_of(op.phase),
                  op.microbatch, op.layer, clock.file_ns(op.start), clock.file_ns(op.end), clock.file_ns(op.launch), category_of(op),
                  static_cast<int>(op.chunk));
      }
    });
  }

  const Job& job_;
  const Topology& topology_;
  const JobRun& run_;
  TextFile& out_;
  std::vector<FileClock> clocks_;
};

}  // namespace

void write_truth(const Job& job, const Topology& topology, const JobRun& run, const std::string& path) {
  TextFile out(path, false);
  TruthWriter(job, topology, run, out).write();
  out.close();
}

}  // namespace synth
