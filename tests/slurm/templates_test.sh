#!/usr/bin/env bash
# The templates of slurm/ on a throw-away cluster, submitted as they are: analysis, a chain behind a training job, an
# array over iterations, a scaling study, failures, a cancelled job, workers without PMIx.
#   templates_test.sh SOURCE_DIR CCL_ANALYZE CCL_COMPARE CCL_SYNTH
set -u
source=$1
export CCL_ANALYZE=$2 CCL_COMPARE=$3 CCL_CPU_BIND=none
synth=$4
if [ -z "${CCL_IN_CLUSTER:-}" ]; then
  cluster=$(mktemp -d) && chmod 755 "$cluster" || exit 1  # munge wants it passable
  trap 'rm -rf "$cluster"' EXIT
  CCL_IN_CLUSTER=yes bash "$source/tests/slurm/cluster.sh" "$cluster" bash "$0" "$@"
  exit $?
fi
source "$source/tests/support/expect.sh"
shown="ccl-*.out training.out"
# ended JOB: its states, when all its tasks have ended, at most after 150 s
ended() {
  local states=PENDING
  for _ in $(seq 750); do
    states=$(scontrol -o show job "$1" 2>/dev/null | grep -oE 'JobState=[A-Z_]+' | cut -d= -f2 | sort -u | tr '\n' ' ')
    [[ $states =~ PENDING|RUNNING|COMPLETING|CONFIGURING ]] || break
    sleep 0.2
  done
  echo "${states% }"
}
exit_code() { scontrol -o show job "$1" | grep -oE ' ExitCode=[0-9]+' | head -n 1 | cut -d= -f2; }
submit() { sbatch --parsable --ntasks-per-node=2 --cpus-per-task=1 "$@"; }

"$synth" --preset tiny --no-faults --steps 6 --steps-per-iteration 2 -o set >/dev/null || exit 1
traces=$PWD/set

job=$(submit --nodes=2 "$source/slurm/analyze.sbatch" "$traces" -o one.h5)
expect "analysis on two nodes" [ "$(ended "$job")" = COMPLETED ]
expect "its last line" says "ccl-analyze-$job.out" '^analyze.sbatch: done$'
expect "its page" says "ccl-analyze-$job.out" '^ranks +8 of 8 analysed'
expect "four workers wrote the file" [ "$(h5dump -a /workers one.h5 2>/dev/null | grep -oE '\(0\): [0-9]+')" = "(0): 4" ]
scontrol show job "$job" | grep -E 'JobState|NumNodes|Command'

# The generator stands for the training; the chain is submitted while it runs.
printf '#!/bin/bash\nsleep 3\n%s --preset tiny --no-faults --steps 4 --steps-per-iteration 2 -o %s\n' "$synth" "$PWD/trained" >training.sh
training=$(sbatch --parsable --output=training.out --time=5 training.sh)
chain=$(CCL_SBATCH="--ntasks-per-node=1" CCL_PLOT='' bash "$source/slurm/after-training.sh" "$training" "$PWD/trained" chained.h5 --baseline one.h5)
squeue
analysis=$(sed -n 's/^analysis //p' <<<"$chain") look=$(sed -n 's/^look //p' <<<"$chain")
expect "training" [ "$(ended "$training")" = COMPLETED ]
expect "analysis after it" [ "$(ended "$analysis")" = COMPLETED ]
expect "comparison after that" [ "$(ended "$look")" = COMPLETED ]
expect "only the newest iteration" says "ccl-analyze-$analysis.out" '^steps +2 steps in iteration [0-9]+;'
expect "the comparison's answer" says "ccl-look-$look.out" '^answer '

count=$(bash "$source/slurm/newest-iteration.sh" "$traces" --all | wc -l)
expect "three iterations" [ "$count" = 3 ]
job=$(submit --array=0-$((count - 1)) --export="ALL,CCL_SLURM=$source/slurm" "$source/slurm/each-iteration.sbatch" "$traces" each)
expect "array over iterations" [ "$(ended "$job")" = COMPLETED ]
expect "a file each" [ "$(find . -maxdepth 1 -name 'each-iteration_*.h5' | wc -l)" = 3 ]

job=$(submit --nodes=1 "$source/slurm/scaling.sbatch" "$traces")
expect "scaling study" [ "$(ended "$job")" = COMPLETED ]
expect "with 1 and 2 tasks" [ "$(grep -cE '^[12] tasks: [0-9.]+ s' "ccl-scaling-$job.out")" -ge 2 ]

job=$(submit "$source/slurm/analyze.sbatch" "$PWD/nowhere" -o no.h5)
expect "a bad request fails" [ "$(ended "$job")" = FAILED ]
expect "with its exit code" [ "$(exit_code "$job")" = 2 ]
expect "and says so" says "ccl-analyze-$job.out" '^analyze.sbatch: FAILED with exit code 2$'
expect "no file" [ ! -e no.h5 ]

job=$(CCL_MPI=none submit "$source/slurm/analyze.sbatch" "$traces" -o alone.h5)
expect "workers without PMIx are refused" [ "$(ended "$job")" = FAILED ]
expect "with what to do" says "ccl-analyze-$job.out" 'without PMIx'
expect "and write nothing" [ ! -e alone.h5 ]

job=$(submit --hold "$source/slurm/analyze.sbatch" "$traces" -o cancelled.h5)
scancel "$job"
expect "a cancelled job" [ "$(ended "$job")" = CANCELLED ]
expect "leaves nothing" [ ! -e cancelled.h5 ]

conclude "all templates as they should be"
