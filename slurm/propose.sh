#!/usr/bin/env bash
# Proposes nodes, tasks and time for a trace set from the sizes of its files:
#   slurm/propose.sh TRACE_DIR [--cores-per-node N] [--options]
# --options prints only the options for sbatch: sbatch $(slurm/propose.sh DIR --options) slurm/analyze.sbatch DIR
#
# Cost model, deliberately pessimistic: a worker reads 0.3 GB/s of plain text, 0.03 GB/s of gzip (which holds about ten
# times its size), and counts no file as shared, though a plain one above 256 MB may be. Enough workers for about a minute of reading, never more than files;
# the time limit is three times the expected time and two minutes.
set -euo pipefail
die() { echo "propose.sh: $*" >&2; exit 2; }

usage="usage: slurm/propose.sh TRACE_DIR [--cores-per-node N] [--options]"
folder="" cores=64 only_options=no
while [ $# -gt 0 ]; do
  case $1 in
    --cores-per-node) [ $# -ge 2 ] || die "--cores-per-node needs a number"; cores=$2; shift ;;
    --options) only_options=yes ;;
    -h | --help) echo "$usage"; exit ;;
    -*) die "no such option: $1" ;;
    *) [ -z "$folder" ] || die "one trace folder, not two: '$folder' and '$1'"; folder=$1 ;;
  esac
  shift
done
[ -n "$folder" ] || die "$usage"
[ -d "$folder" ] || die "no such folder: '$folder'"
[[ $cores =~ ^[1-9][0-9]*$ ]] || die "--cores-per-node '$cores' is not a number"

# Small JSON beside the traces (results, logs, truth.json of ccl-synth) is none: a trace names its events.
find -L "$folder" -type f -regextype posix-extended -iregex '.*\.(json|gz|jsonl|sqlite3?|pickle|pkl)' \
  \( ! -iname '*.json' -o -size +4096k -o -exec grep -qE '"(traceEvents|ph|Type|table|data|schemaVersion)" *:' {} \; \) -printf '%s %f\n' |
  quoted=$(printf %q "$folder") awk -v cores="$cores" -v only_options="$only_options" '
    { plain_s = $1 / (tolower($0) ~ /gz$/ ? 3e7 : 3e8); files++; bytes += $1; work_s += plain_s
      if (plain_s > longest_s) longest_s = plain_s }
    function up(x) { return x > int(x) ? int(x) + 1 : int(x) }
    END {
      if (files == 0) { print "propose.sh: no trace files in " ENVIRON["quoted"] > "/dev/stderr"; exit 2 }
      target_s = longest_s > 60 ? longest_s : 60
      tasks = up(work_s / target_s); if (tasks > files) tasks = files; if (tasks < 1) tasks = 1
      per_node = cores / 2 > tasks ? tasks : int(cores / 2); if (per_node < 1) per_node = 1   # two cores a worker
      nodes = up(tasks / per_node); per_node = up(tasks / nodes)
      expected_s = work_s / tasks > longest_s ? work_s / tasks : longest_s
      options = sprintf("--nodes=%d --ntasks-per-node=%d --cpus-per-task=2 --time=%d", nodes, per_node, up(3 * expected_s / 60) + 2)
      if (only_options == "yes") { print options; exit }
      size = bytes < 1e7 ? sprintf("%.2f MB", bytes / 1e6) : sprintf("%.2f GB", bytes / 1e9)
      printf "%d file%s, %s; about %d s of reading on %d worker%s\n", files, (files > 1 ? "s" : ""), size, up(expected_s), tasks, (tasks > 1 ? "s" : "")
      print "sbatch " options " slurm/analyze.sbatch " ENVIRON["quoted"]
    }'
