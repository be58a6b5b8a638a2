#!/usr/bin/env bash
# Submits the analysis of a training job's traces, to start when that job ends, and figures and comparison after it:
#   slurm/after-training.sh JOBID TRACE_DIR RESULT.h5 [--after ok|any] [--baseline BASELINE.h5] [-- options of ccl-analyze]
# The newest complete iteration is analysed. --after any (default): traces of a job that failed are analysed too.
# More options for sbatch: CCL_SBATCH="--account=m1234 --constraint=cpu". Prints the job ids, analysis first.
set -euo pipefail
die() { echo "after-training.sh: $*" >&2; exit 2; }

[ $# -ge 3 ] || die "usage: after-training.sh JOBID TRACE_DIR RESULT.h5 [--after ok|any] [--baseline FILE] [-- options]"
training=$1 traces=$2 result=$3 after=any baseline=()
shift 3
while [ $# -gt 0 ]; do
  case $1 in
    --after | --baseline)
      [ $# -ge 2 ] || die "$1 needs a value"
      if [ "$1" = --after ]; then after=$2; else baseline=("$2"); fi
      shift 2
      ;;
    --) shift; break ;;
    *) die "no such option: $1" ;;
  esac
done
[[ $training =~ ^[0-9]+$ ]] || die "'$training' is no job id"
case $after in ok | any) ;; *) die "--after $after: must be ok or any" ;; esac

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck disable=SC2206
more=(${CCL_SBATCH:-})
plot=$here/../jobs/plot/plot
[ -x "$plot" ] || plot=""
analysis=$(sbatch --parsable ${more[@]+"${more[@]}"} --dependency="after$after:$training" --kill-on-invalid-dep=yes \
  --export="ALL,CCL_NEWEST=$here/newest-iteration.sh" "$here/analyze.sbatch" "$traces" -o "$result" "$@")
look=$(sbatch --parsable ${more[@]+"${more[@]}"} --dependency="afterok:$analysis" --kill-on-invalid-dep=yes \
  --export="ALL,CCL_PLOT=${CCL_PLOT:-$plot}" "$here/look.sbatch" "$result" ${baseline[@]+"${baseline[@]}"})
echo "analysis $analysis"
echo "look $look"
