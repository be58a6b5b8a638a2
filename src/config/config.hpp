// Everything the user can ask for, as plain structs with defaults. Filled from the command line, a job file and
// settings (precedence: command line > job > settings > embedded configs/).
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ccl {

struct InputConfig {
  std::vector<std::string> folders;         // or single files; several are iterations of one run
  std::vector<std::int64_t> iterations;     // empty = all
  std::vector<std::int64_t> steps;          // ProfilerStep numbers; empty = all
  std::string run;                          // empty = the only one
  bool each_run = false;
  std::string rank_regex;                   // first capture group = rank
  bool rank_from_name = false;              // --rank-from name: the name is asked before the content
  std::string host_map;                     // file of "rank host" lines
  std::string card;                         // --card; empty = the one found beside the traces
  std::string training_config;              // --config: TorchTitan TOML or a card, told by content
  std::string megatron_args;                // a file, or the arguments themselves (text that starts with "--")
  std::string profile_mode = "auto";        // torch | nsys | auto
  bool nsys_export = false;                 // run nsys export for reports without an export
};

struct OutputConfig {
  std::string hdf5 = "ccl-analyze.h5";
  std::string report_dir;                   // empty = no text report file
  bool json = false;                        // --output-json
  bool members = false;                     // --members: /collectives/members above 20 million rows too
  bool events = false;                      // --events
  bool quiet = false;
  bool timings = false;
};

/// --timeline-json: one Chrome/Perfetto file of what every rank did when.
struct TimelineExportConfig {
  std::string file;                         // empty = none
  std::string alignment = "global";         // global | individual
  std::vector<std::int64_t> ranks;          // empty = all
  std::int64_t merge_below_ns = 1000;       // neighbours on a track shorter than this become one slice
  bool incomplete_groups = false;           // also ranks of model replicas that lack a rank
};

struct Config {
  InputConfig input;
  OutputConfig output;
  TimelineExportConfig timeline_export;
  std::vector<std::string> metrics;         // canonical names; empty = all whose needs are met
  std::vector<std::string> settings_files;  // laid over configs/ in order
  std::string job_file;
  std::int64_t timeline_bins = 1000;
  std::string window_start, window_end;     // --start/--end: ns from the first GPU event, "chunk" or "step:N"
  std::string mfu_convention = "torchtitan";
  std::string what_if_ideal = "median";
  std::map<std::string, double> peaks;      // overridden peaks by name
  double time_limit_s = 0;                  // 0 = none
  bool strict = false;
  std::int64_t inflate_limit = 200;         // bytes of text per byte of a gzip file; 0 = none
  std::string command_line;
};

}  // namespace ccl
