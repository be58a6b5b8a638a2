#!/usr/bin/env bash
# What a finished run leaves behind: exit codes, who says what on stdout and stderr, job files, one file per run.
#   outcomes.sh PROGRAM SYNTH MPIEXEC -n
set -u
program=$1 synth=$2
launcher=("${@:3}" 2)
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
source "$top/tests/support/expect.sh"
# run CODE ARGUMENT...
run() {
  local wanted=$1
  shift
  exits "$wanted" "${launcher[@]}" "$program" "$@"
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

mkdir -p jobs build/demo
cp "$top/jobs/demo.yaml" jobs
cp -r set build/demo/traces
run 0 --job jobs/demo.yaml
sed -n '/^What the demonstration prints/,/^| word/p' "$top/README.md" | sed '1,/^```/d;/^```/,$d' >shown
expect "the page is the one README.md shows" diff <(sed "s|$folder/||" out) shown

run 0 set/profile_traces -o b.h5 --output-json -q
expect "JSON and nothing else" says out '^\{.*\}$'
expect "one line of JSON" [ "$(wc -l <out)" = 1 ]

run 0 set/profile_traces -o c.h5 --metric overlap
expect "only that metric" says out '^comm_comp_overlap'
expect "no other metric" silent_about out 'iter_time|straggler'

run 2 set/profile_traces -o absent.h5 --step 99
expect "a step of no trace is named, with those there are" says err '^ccl-analyze: --step 99 is in no trace \(.* steps, '
expect "and no file is left" [ ! -e absent.h5 ]
run 2 set/profile_traces -o absent.h5 --timeline-json absent.json --start step:99 --end step:99
expect "so is one of a window" says err '^ccl-analyze: --start step:99 is in no trace \(.* steps, '
run 2 set/profile_traces -o absent.h5 --metric stage_overlap --end step:99
expect "so is one of its end" says err '^ccl-analyze: --end step:99 is in no trace \(.* steps, '
run 2 set/profile_traces -o absent.h5 --timeline-json absent.json --start 999999999999999
expect "a window without an event is told of" says err \
  '^ccl-analyze: --timeline-json has no event to show \(none of a shown rank is within --start 999999999999999\)$'
expect "and no file is left" [ -z "$(find . -name 'absent*')" ]

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
expect "the page names the damaged file and its rank" says out '^lost +rank 3, .*rank3.*: (gzip|file)_cut'
expect "so does stderr" says err '^lost: rank 3, .*rank3.*: (gzip|file)_cut'
# A trace that became something else is lost; a file of another kind beside the traces is not.
cp -r set/profile_traces changed
echo '{"planted": 1}' >changed/truth.json
echo hello >changed/README
run 0 changed --strict -o changed.h5
expect "files beside the traces are no warning" says out '^warnings +none'
for trace in changed/*/rank3*; do echo hello >"$trace"; done
run 3 changed --strict -o changed.h5
expect "the lost trace is named" says out '^lost +rank 3, .*rank3.*: json_invalid \(named like a trace'
run 0 cut -o cut.h5
run 4 set/profile_traces --time-limit 0.000001s -o late.h5
expect "ended early is said" says out 'ENDED EARLY'
expect "ended early leaves a file" [ -f late.h5 ]
expect "the traces were there" says out '^ranks +none: no trace had been read yet$'
cp a.h5 kept.h5
run 4 set/profile_traces --time-limit 0.000001s -o kept.h5 --timeline-json kept.json
expect "with nothing read an older result stays" cmp -s a.h5 kept.h5
expect "which is said" says err '^ccl-analyze: ended early \(no trace had been read yet\) kept\.h5 is left as it was$'
expect "in one line" [ "$(grep -c '^ccl-analyze: ' err)" = 1 ]
expect "without a page" [ ! -s out ]
run 4 set/profile_traces --time-limit 0.000001s -o first.h5 --timeline-json kept.json
expect "nor a timeline of nothing" says err '^no timeline was written: '
expect "nor its file" [ ! -e kept.json ]

run 2 runs -o runs.h5
expect "several runs are listed" says err 'first, second'
run 0 runs --run second -o one.h5
mkdir -p sweep/lr1 sweep/lr2 && cp set/profile_traces/*/rank* sweep/lr1 && cp set/profile_traces/*/rank* sweep/lr2
run 0 sweep --each-run -o sweep.h5
expect "folders with the same ranks are runs" [ -f sweep.lr2.h5 ] && expect "and none is lost" silent_about err '^lost'
run 0 sweep --run lr1 -o lr1.h5
echo '{}' >sweep/workload_card.yaml
run 0 sweep --run lr1 -o lr1.h5
expect "a found card that is none is a warning with its reason" says err '^card_invalid: .*workload_card.yaml: it has none of'
run 0 runs --each-run -o runs.h5
expect "a file per run" [ -f runs.first.h5 ] && expect "a file per run" [ -f runs.second.h5 ]
run 0 runs --each-run --metric iter_time -o runs.h5
expect "the details say of which run they are" [ "$(grep -oE '^input .*, run (first|second): ' out | grep -oE 'first|second' | xargs)" = "first second" ]
run 0 runs --each-run --output-json -o runs.h5
expect "a JSON list of runs" says out '^\[\{.*'

# A file is read by one worker: more workers than files change nothing but say so.
mkdir lone && cp set/profile_traces/*/rank0* lone
timeout 60 "${launcher[@]:0:2}" 1 "$program" lone -o lone.h5 >out 2>err || complain "one worker, one file"
expect "one worker for one file is as it should be" silent_about err 'nothing to read'
run 0 lone -o spare.h5
expect "a worker without a file is told of" says err '^2 workers for 1 trace file: 1 had nothing to read$'
expect "and changes nothing" [ "$("$program" --content-hash lone.h5)" = "$("$program" --content-hash spare.h5)" ]

# A program built anew has another build id, even from the same sources.
if id=$(readelf -n "$program" 2>/dev/null | grep -m 1 'Build ID') && command -v objcopy >/dev/null; then
  objcopy --dump-section .note.gnu.build-id=note "$program" rebuilt
  other_byte=$([ "$(tail -c 1 note | od -An -tx1 | tr -d ' ')" = a5 ] && echo '\x5a' || echo '\xa5')
  head -c -1 note >other && printf "$other_byte" >>other
  objcopy --update-section .note.gnu.build-id=other "$program" rebuilt
  code=0
  # Not two programs behind one mpirun: that of Open MPI 5.0.7 crashes on any two.
  printf '#!/bin/sh\n[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 0 ] && exec "%s" "$@"\nexec ./rebuilt "$@"\n' "$program" >either
  chmod +x either
  timeout 60 "${launcher[@]:0:2}" 2 ./either set/profile_traces -o mixed.h5 >out 2>err || code=$?
  expect "two builds in one run are refused (exit $code)" [ "$code" = 2 ]
  expect "and named" says err '^ccl-analyze: the workers are 2 different builds of ccl-analyze: worker 0 .*, worker 1 '
  expect "in one line" [ "$(grep -c '^ccl-analyze: ' err)" = 1 ]
  expect "without a file" [ ! -e mixed.h5 ]
else
  echo "the programs have no build id, or there is no objcopy: two builds in one run are not tried ($id)"
fi

hashes=$(for file in runs.second.h5 one.h5; do timeout 20 "$program" --content-hash $file; done | sort -u | wc -l)
expect "--run and --each-run say the same of a run" [ "$hashes" = 1 ]
expect "nothing half-written stays" [ -z "$(find . -name '*.tmp*')" ]
conclude "all outcomes as they should be"
