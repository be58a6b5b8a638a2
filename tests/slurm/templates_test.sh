#!/usr/bin/env bash
# The templates of slurm/ on a throw-away cluster, submitted as they are: analysis, a chain behind a training job, an
# array over iterations, a scaling study, failures, a cancelled job, a time limit that is hit, workers without PMIx.
#   templates_test.sh SOURCE_DIR CCL_ANALYZE CCL_COMPARE CCL_SYNTH PYTHON
# PYTHON: one that imports h5py.
set -u
source=$1
export CCL_ANALYZE=$2 CCL_COMPARE=$3 CCL_CPU_BIND=none
synth=$4
python=$5
if [ -z "${CCL_IN_CLUSTER:-}" ]; then
  cluster=$(mktemp -d) && chmod 755 "$cluster" || exit 1  # munge wants it passable
  trap 'rm -rf "$cluster"' EXIT
  CCL_IN_CLUSTER=yes bash "$source/tests/slurm/cluster.sh" "$cluster" bash "$0" "$@"
  exit $?
fi
source "$source/tests/support/expect.sh"
shown="ccl-*.out training.out now.out"
# ended JOB: its states, when all its tasks have ended, at most after 150 s
ended() {
  local states=PENDING
  for _ in $(seq 750); do
    states=$(scontrol -o show job "$1" 2>/dev/null | grep -oE 'JobState=[A-Z_]+' | cut -d= -f2 | sort -u | tr '\n' ' ')
    # A job has other states on its way (SIGNALING, CONFIGURING, COMPLETING ...): the last ones are told by name.
    [[ $states =~ ^((BOOT_FAIL|CANCELLED|COMPLETED|DEADLINE|FAILED|NODE_FAIL|OUT_OF_MEMORY|PREEMPTED|TIMEOUT) )*$ ]] && break
    sleep 0.2
  done
  echo "${states% }"
}
exit_code() { scontrol -o show job "$1" | grep -oE ' ExitCode=[0-9]+' | head -n 1 | cut -d= -f2; }
# attribute FILE NAME: of the root
attribute() { "$python" -c 'import h5py, sys; print(h5py.File(sys.argv[1], "r").attrs[sys.argv[2]])' "$1" "$2"; }
submit() { sbatch --parsable --ntasks-per-node=2 --cpus-per-task=1 "$@"; }

"$synth" --preset tiny --no-faults --steps 6 --steps-per-iteration 2 -o set >/dev/null || exit 1
traces=$PWD/set

# A time limit that is hit, beside the other jobs: one iteration under 600 names, 180 GB of text, is more than a
# minute of reading. SLURM looks at its jobs twice a minute: the signal comes 45 to 60 s before the end of this one.
"$synth" --no-faults --mesh dp_shard=2 --layers 1 --steps 1 --steps-per-iteration 1 --mb-per-rank 150 --gz -o long >/dev/null || exit 1
endless=$(dirname "$(find long -type d -name 'iteration_*' | head -n 1)")
first=$(basename "$endless"/iteration_*)
for number in $(seq 1001 1600); do cp -rl "$endless/$first" "$endless/iteration_$number"; done
limited=$(submit --ntasks-per-node=1 --time=1 --signal=USR1@45 "$source/slurm/analyze.sbatch" "$PWD/$endless" -o limited.h5)

job=$(submit --nodes=2 "$source/slurm/analyze.sbatch" "$traces" -o one.h5)
expect "analysis on two nodes" [ "$(ended "$job")" = COMPLETED ]
expect "its last line" says "ccl-analyze-$job.out" '^analyze.sbatch: done$'
expect "its page" says "ccl-analyze-$job.out" '^ranks +8 of 8 analysed'
expect "four workers wrote the file" [ "$(attribute one.h5 workers)" = 4 ]
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

CCL_SRUN="--cpus-per-task=1" bash "$source/slurm/interactive.sh" "$traces" -o now.h5 >now.out 2>&1 || complain "in the foreground: exit $?"
expect "its page" says now.out '^results +now.h5'

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

state=$(ended "$limited")
scontrol show job "$limited" | grep -E 'JobState|RunTime|TimeLimit'
tail -n 3 "ccl-analyze-$limited.out"
expect "at its time limit a job ends early ($state $(exit_code "$limited"))" [ "$state $(exit_code "$limited")" = "FAILED 4" ]
expect "its last line" says "ccl-analyze-$limited.out" '^analyze.sbatch: ended early: the result is partial, or an older one stays$'
expect "its page" says "ccl-analyze-$limited.out" 'ENDED EARLY'
expect "what was read is written" [ "$(attribute limited.h5 completeness)" = partial ]

conclude "all templates as they should be"
