// ccl-synth: writes the traces of a simulated training job and truth.json, what an analyzer must find in them.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iostream>

#include "execution_trace.hpp"
#include "kineto_file.hpp"
#include "layout.hpp"
#include "nsys_file.hpp"
#include "options.hpp"
#include "simulate.hpp"
#include "snapshot.hpp"
#include "truth.hpp"

namespace {

using namespace synth;

std::int64_t write_traces(const Job& job, const Topology& topology, const JobRun& run) {
  const auto bounds = iteration_bounds(job);
  std::int64_t bytes = 0;
  FilePlan plan;
  plan.end_step = bounds[1];
  if (job.megabytes_per_rank > 0) plan.noise_per_op = noise_for_size(job, topology, run, plan);
  for (std::size_t i = 0; i + 1 < bounds.size(); ++i)
    for (plan.rank = 0; plan.rank < job.mesh.world(); ++plan.rank) {
      if (is_missing(job.faults, plan.rank)) continue;
      plan.first_step = bounds[i], plan.end_step = bounds[i + 1];
      plan.path = trace_path(job, plan.rank, plan.first_step, plan.end_step);
      bytes += write_kineto(job, topology, run, plan);
      if (job.execution_traces) write_execution_trace(job, topology, run, plan);
    }
  return bytes;
}

/// One SQLite file per host, bytes on disk.
std::int64_t write_exports([[maybe_unused]] const Job& job, [[maybe_unused]] const Topology& topology,
                           [[maybe_unused]] const JobRun& run) {
#ifdef CCL_SYNTH_NSYS
  std::int64_t bytes = 0;
  for (int host = 0; host < job.hosts(); ++host) {
    const std::string path = job.output + "/nsys_" + std::to_string(host) + ".sqlite";
    write_nsys(job, topology, run, host, path);
    bytes += static_cast<std::int64_t>(std::filesystem::file_size(path));
  }
  return bytes;
#else
  throw std::invalid_argument("this build has no SQLite, so no --format nsys");
#endif
}

int make_traces(const Options& options) {
  const Job& job = options.job;
  const Topology topology = make_topology(job.mesh, job.ranks_per_host,
                                          job.layout == Layout::megatron ? Naming::megatron : Naming::torchtitan);
  const JobRun run = simulate(job, topology);
  write_companions(job);
  const std::int64_t bytes =
      job.format == Format::nsys ? write_exports(job, topology, run) : write_traces(job, topology, run);
  if (job.memory)
    for (int rank = 0; rank < job.mesh.world(); ++rank)
      if (!is_missing(job.faults, rank))
        write_snapshot(simulate_memory(job, run.ranks[static_cast<std::size_t>(rank)], rank), snapshot_path(job, rank));
  const std::string truth = options.truth.empty() ? job.output + "/truth.json" : options.truth;
  write_truth(job, topology, run, truth);
  std::size_t operations = 0;
  for (const RankRun& rank : run.ranks) operations += rank.ops.size();
  std::printf("%s: %d ranks, %zu GPU operations, %.1f MB of trace text; truth in %s\n", job.output.c_str(),
              job.mesh.world(), operations, static_cast<double>(bytes) / 1e6, truth.c_str());
  return 0;
}

/// The simulated steps over and over until the file has its size: for measuring speed.
int make_big_file(Options& options) {
  Job& job = options.job;
  const Topology topology = make_topology(job.mesh, job.ranks_per_host, Naming::torchtitan);
  const JobRun run = simulate(job, topology);
  FilePlan plan;
  plan.end_step = job.steps;
  if (job.megabytes_per_rank > 0) plan.noise_per_op = noise_for_size(job, topology, run, plan);
  const auto once = static_cast<double>(write_kineto(job, topology, run, plan));
  job.repeat = std::max(1, static_cast<int>(options.big_gigabytes * 1e9 / once + 0.5));
  plan.path = options.big_file;
  const std::int64_t bytes = write_kineto(job, topology, run, plan);
  std::printf("%s: %.3f GB of trace text, %d steps, %zu GPU operations\n", plan.path.c_str(),
              static_cast<double>(bytes) / 1e9, job.repeat * job.steps,
              run.ranks[0].ops.size() * static_cast<std::size_t>(job.repeat));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app;
  Options options;
  describe_options(app, options);
  try {
    app.parse(argc, argv);
    resolve(options);
    if (!options.big_snapshot.empty()) {
      const std::int64_t bytes = write_big_snapshot(options.big_snapshot, options.big_gigabytes * 1e9);
      std::printf("%s: %.3f GB\n", options.big_snapshot.c_str(), static_cast<double>(bytes) / 1e9);
      return 0;
    }
    return options.big_file.empty() ? make_traces(options) : make_big_file(options);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const std::invalid_argument& error) {
    std::cerr << "ccl-synth: " << error.what() << "\n";
    return 2;
  } catch (const std::exception& error) {
    std::cerr << "ccl-synth: " << error.what() << "\n";
    return 1;
  }
}
