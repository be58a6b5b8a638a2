#!/usr/bin/env bash
# Every bad request is one line from worker 0 and exit code 2, on any number of workers:
#   requests.sh PROGRAM WORKERS [MPIEXEC -n]
# Alone (WORKERS 1, no MPIEXEC) also: what needs no MPI works where MPI cannot start.
set -u
program=$1 workers=$2
launcher=()
[ $# -le 2 ] || launcher=("${@:3}" "$workers")
source "$(dirname "${BASH_SOURCE[0]}")/../support/expect.sh"

# refused TEXT ARGUMENT...: TEXT must be in the one line
refused() {
  local text=$1 code=0
  shift
  timeout 60 "${launcher[@]}" "$program" "$@" >out 2>said </dev/null || code=$?
  grep -vF '[hwloc/linux]' said >err  # what MPI's hardware library says in a container without /sys is not ours
  [ "$code" = 2 ] || complain "exit $code instead of 2: $*"
  [ "$(grep -c '^ccl-analyze: ' err)" = 1 ] || complain "not one line: $*"
  [ ${#launcher[@]} != 0 ] || [ "$(wc -l <err)" = 1 ] || complain "more than the message: $*"
  grep -qF -- "$text" err || complain "lacks '$text': $*"
  [ -s out ] && complain "something on stdout: $*"
  [ -z "$(find . -name '*.h5*')" ] || complain "left an output file: $*"
}

mkdir empty plain
echo 'not a trace' >plain/notes.txt
printf 'input: empty\nmetrcs: [iter_time]\n' >typo.yaml
mkdir cpu_only nameless
cpu='{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 2}'
gpu='{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 2, "args": {"device": 0, "stream": 7}}'
printf '{"schemaVersion": 1, "traceEvents": [%s]}' "$cpu" | tee cpu_only/a.json >cpu_only/b.json
printf '{"schemaVersion": 1, "traceEvents": [%s]}' "$gpu" | tee nameless/a.json >nameless/b.json
printf 'workload:\n  data: {seq_lenn: 8}\n' >card.yaml
printf 'kernel:\n  communication: {}\n' >settings.yaml

refused "no trace folder"
refused "Did you mean '--metric'?" empty --metrc iter_time
refused "Did you mean 'iter_time'?" empty --metric iter_tme
refused "needs a value" empty --run
refused "typo.yaml:2: key 'metrcs'" --job typo.yaml
refused "no such file" --job nowhere.yaml
refused "not a whole number" empty --iteration ten
refused "Did you mean 'name'?" empty --rank-from nme
refused "no capture group" empty --rank-regex 'r[0-9]+'
refused "there is no folder" empty -o nowhere/x.h5
refused "nowhere" nowhere
refused "empty" empty
refused "plain" plain
refused "a.json: no_rank and no_gpu_events, b.json: no_rank and no_gpu_events). Profile with" cpu_only
refused "a.json: no_rank, b.json: no_rank). See --rank-regex" nameless
refused "--card typo.yaml cannot be used (it has none of" nameless --card typo.yaml
refused "line 2: 'workload.data.seq_lenn' is not read, did you mean 'seq_len'?" nameless --card card.yaml
refused "--config nowhere.toml cannot be read (no such file)" nameless --config nowhere.toml
refused "--megatron-args --tp 2 cannot be used (" nameless --megatron-args '--tp 2'
refused "--host-map empty cannot be read (a folder)" nameless --host-map empty
refused "Did you mean 'kernels'?" empty --settings settings.yaml
refused "nowhere.yaml" empty --settings nowhere.yaml

if [ ${#launcher[@]} = 0 ]; then
  # No such component: MPI_Init of Open MPI ends the process.
  export OMPI_MCA_pml=none_of_that_name
  for asked in --version --help --list-metrics "--dump-config empty"; do
    # shellcheck disable=SC2086
    timeout 20 "$program" $asked >out 2>err </dev/null || complain "needs MPI: $asked"
    [ -s out ] && [ ! -s err ] || complain "answer belongs on stdout: $asked"
  done
  refused "nowhere.h5" --content-hash nowhere.h5
else
  timeout 20 "${launcher[@]}" "$program" --version >out 2>err </dev/null || complain "--version under a launcher"
  [ "$(wc -l <out)" = 1 ] || complain "one worker answers for all: --version"
fi
conclude "all requests were refused as they should"
