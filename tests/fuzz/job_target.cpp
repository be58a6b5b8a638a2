// Job files and settings files with any content: read, or refused in one line.
#include "config/job.hpp"
#include "core/problems.hpp"
#include "parse/classify.hpp"
#include "parse/config_files.hpp"
#include "scratch_file.hpp"
#include "target.hpp"

namespace ccl::fuzz {

std::vector<std::string> seeds() {
  return {"input: traces\nrun: first\niteration: [10, 20]\ncard: card.yaml\nmetrics: [iter_time, overlap]\n"
          "output: {hdf5: a.h5, report_dir: reports, json: true}\nstrict: true\n",
          "input: [a, b]\neach_run: yes\ntime_limit: 10m\nstep: 3\nworkers: x\n",
          "kernels:\n  communication: {mine: {match: ['^nccl', '/x(a|b)/'], operation: dispatch, dimension: ep}}\n  compute_classes: {gemm: ['cutlass*tn']}\n  slices: {forward: [fwd$]}\n",
          std::string(embedded_config("kernels")).substr(0, 1500), "input: &a [*a]\n", "output: {hdf5: [x]}\n? [a]\n: b\n"};
}

void run(std::string_view bytes) {
  static ScratchFile file(".yaml");
  const std::string& path = file.hold(bytes);
  try {
    Request request;
    read_job(path, request);
    job_text(request.config);
  } catch (const FatalError& error) {
    require(error.exit_code() == ExitCode::bad_request, "a wrong job is a bad request");
    require(std::string(error.what()).find(path) != std::string::npos, "the message names the file");
  }
  try {
    Config config;
    config.settings_files.push_back(path);
    const Classifier classifier(merged_settings("kernels", config));
    classifier.kernel("ncclDevKernel_AllReduce");
  } catch (const FatalError& error) {
    require(error.exit_code() == ExitCode::bad_request, "wrong settings are a bad request");
  }
}

}  // namespace ccl::fuzz
