#!/usr/bin/env bash
# What a finished run leaves behind: exit codes, who says what on stdout and stderr, job files, one file per run.
#   outcomes.sh PROGRAM SYNTH MPIEXEC -n
set -u
program=$1 synth=$2
launcher=("${@:3}" 2)
source "$(dirname "${BASH_SOURCE[0]}")/../support/expect.sh"
# run CODE ARGUMENT...
run() {
  local wanted=$1 code=0
  shift
  timeout 60 "${launcher[@]}" "$program" "$@" >out 2>err </dev/null || code=$?
  expect "exit $code instead of $wanted: $*" [ "$code" = "$wanted" ]
}

"$synth" --preset tiny --seed 1 -o set >out 2>err || exit 1
mkdir runs cut
cp -r set/profile_traces runs/first
cp -r set/profile_traces runs/second
cp -r set/profile_traces/* cut
for trace in cut/*/rank3*; do truncate -s -2000 "$trace"; done

run 0 set/profile_traces -o a.h5
expect "the page ends with the path of the file" [ "$(tail -n 1 out | tr -s ' ')" = "results a.h5" ]
expect "a page has at most 60 lines" [ "$(wc -l <out)" -le 60 ]
expect "a page has at most 100 columns" silent_about out '.{101}'
expect "notes go to stderr" says err 'a\.h5'

run 0 set/profile_traces -o b.h5 --output-json -q
expect "JSON and nothing else" says out '^\{.*\}$'
expect "one line of JSON" [ "$(wc -l <out)" = 1 ]

run 0 set/profile_traces -o c.h5 --metric overlap
expect "only that metric" says out '^comm_comp_overlap'
expect "no other metric" silent_about out 'iter_time|straggler'

run 2 set/profile_traces -o absent.h5 --step 99
expect "a step of no trace is named, with those there are" says err '^ccl-analyze: --step 99 is in no trace \(.* steps, '
expect "and no file is left" [ ! -e absent.h5 ]

printf 'input: set/profile_traces\nmetrics: [iter_time]\noutput: {hdf5: job.h5}\n' >job.yaml
run 0 --job job.yaml
expect "the job's metric" says out '^iter_time'
expect "the job's file" [ -f job.h5 ]
run 0 --job job.yaml --metric overlap -o line.h5
expect "the command line wins" says out '^comm_comp_overlap'
expect "the command line's file" [ -f line.h5 ]
timeout 20 "$program" --job job.yaml --dump-config >dumped.yaml
run 0 --job dumped.yaml
expect "the dumped job asks for the same" says out '^iter_time'

run 3 cut --strict -o cut.h5
expect "strict losses still leave a file" [ -f cut.h5 ]
run 0 cut -o cut.h5
run 4 set/profile_traces --time-limit 0.000001s -o late.h5
expect "ended early is said" says out 'ENDED EARLY'
expect "ended early leaves a file" [ -f late.h5 ]

run 2 runs -o runs.h5
expect "several runs are listed" says err 'first, second'
run 0 runs --run second -o one.h5
run 0 runs --each-run -o runs.h5
expect "a file per run" [ -f runs.first.h5 ] && expect "a file per run" [ -f runs.second.h5 ]
run 0 runs --each-run --output-json -o runs.h5
expect "a JSON list of runs" says out '^\[\{.*'

hashes=$(for file in runs.second.h5 one.h5; do timeout 20 "$program" --content-hash $file; done | sort -u | wc -l)
expect "--run and --each-run say the same of a run" [ "$hashes" = 1 ]
expect "nothing half-written stays" [ -z "$(find . -name '*.tmp*')" ]
conclude "all outcomes as they should be"
