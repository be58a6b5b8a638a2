#!/usr/bin/env bash
# What an output may take the place of, and what happens when stdout cannot be written.
#   outputs.sh CCL_ANALYZE CCL_COMPARE CCL_SYNTH
set -u
analyze=$1 compare=$2 synth=$3
source "$(dirname "${BASH_SOURCE[0]}")/../support/expect.sh"

everything() { find . -type f ! -name out ! -name err ! -name before -exec sha256sum {} + | sort -k 2; }
# refused TEXT PROGRAM ARGUMENT...: one line with TEXT, and every file is as it was
refused() {
  local text=$1
  shift
  everything >before
  exits 2 "$@"
  expect "lacks '$text': $*" grep -qF -- "$text" err
  expect "one line: $*" [ "$(wc -l <err)" = 1 ]
  expect "nothing on stdout: $*" [ ! -s out ]
  expect "a file changed: $*" [ "$(everything)" = "$(cat before)" ]
}

"$synth" --preset tiny --no-faults --steps 2 --seed 1 -o set >out 2>err || exit 1
traces=set/profile_traces
trace=$(find "$traces" -name '*rank*' -type f | sort | head -n 1)
exits 0 "$analyze" "$traces" -o old.h5 --timeline-json old.json.gz -q
exits 0 "$analyze" "$traces" -o same.h5 --timeline-json old.json --metric iter_time -q
exits 0 "$compare" old.h5 old.h5 -o comparison.h5
printf 'input: %s\n' "$traces" >job.yaml
printf 'kernels: {}\n' >settings.yaml
printf '0 a\n' >hosts
echo 'my notes' >notes.txt
echo '{"mine": 1}' >mine.json
ln "$trace" hard.json.gz
ln -s "$trace" soft.json.gz
ln -s old.h5 soft.h5

refused "among the input and is no result of ccl-analyze). Give another name." "$analyze" "$traces" -o "$trace"
refused "among the input" "$analyze" "$traces" --timeline-json "$trace"
refused "the same file as the input $trace)" "$analyze" "$trace" -o "$trace"
refused "the same file as the input hard.json.gz)" "$analyze" hard.json.gz -o "$trace"
refused "the same file as the input $trace)" "$analyze" "$trace" --timeline-json soft.json.gz
refused "the same file as the input job.yaml)" "$analyze" --job job.yaml -o job.yaml
refused "the same file as the input settings.yaml)" "$analyze" "$traces" --settings settings.yaml -o settings.yaml
refused "the same file as the input hosts)" "$analyze" "$traces" --host-map hosts --timeline-json hosts
for option in --card --config --megatron-args; do
  refused "the same file as the input notes.txt)" "$analyze" "$traces" $option notes.txt -o ./notes.txt
done
refused "the same file as output new.h5)" "$analyze" "$traces" -o new.h5 --timeline-json "set/../new.h5"
refused "the same file as output new)" "$analyze" "$traces" -o new --report-dir new/
refused "output notes.txt (exists and is no result of ccl-analyze). Give another name, or remove it." \
  "$analyze" "$traces" -o notes.txt
refused "exists and is no result of ccl-analyze" "$analyze" "$traces" -o comparison.h5
refused "exists and is no timeline of ccl-analyze" "$analyze" "$traces" -o new.h5 --timeline-json mine.json
refused "exists and is no timeline of ccl-analyze" "$analyze" "$traces" -o new.h5 --timeline-json old.h5
refused "is no regular file" "$analyze" "$traces" -o /dev/null
for option in -o --timeline-json --report-dir; do
  refused " - (is not written to stdout). Name a file; the page is on stdout" "$analyze" "$traces" $option -
done
refused "output - (is not written to stdout)" "$compare" old.h5 old.h5 -o -
mkdir runs && cp -r "$traces" runs/first && cp -r "$traces" runs/second && cp notes.txt runs.second.h5
refused "output runs.second.h5 (exists and is no result" "$analyze" runs --each-run -o runs.h5
refused "the same file as the input old.h5)" "$compare" old.h5 same.h5 -o old.h5
refused "the same file as the input old.h5)" "$compare" same.h5 old.h5 -o soft.h5
refused "exists and is no comparison of ccl-compare" "$compare" old.h5 old.h5 -o same.h5
refused "exists and is no comparison of ccl-compare" "$compare" old.h5 old.h5 -o notes.txt

# Older outputs of the same kind and empty files are replaced.
: >empty.h5
exits 0 "$analyze" "$traces" -o empty.h5 --timeline-json old.json.gz --report-dir . -q
exits 0 "$analyze" "$traces" -o empty.h5 --timeline-json old.json -q
exits 0 "$compare" old.h5 old.h5 -o comparison.h5

# unwritable WORD PROGRAM ARGUMENT...: one line on stderr and exit code 1
unwritable() {
  local code=0
  timeout 60 "$@" >/dev/full 2>err </dev/null || code=$?
  cp err out
  expect "exit $code instead of 1 with a full stdout: $*" [ "$code" = 1 ]
  expect "a full stdout is told of: $*" [ "$(grep -c ': stdout cannot be written (No space left' err)" = 1 ]
}
if [ -e /dev/full ]; then
  unwritable "$analyze" "$traces" -o full.h5
  expect "the result is there all the same" [ -s full.h5 ]
  unwritable "$analyze" "$traces" -o full.h5 --output-json -q
  unwritable "$analyze" --job job.yaml --dump-config
  for asked in --help --version --list-metrics "--content-hash old.h5"; do
    # shellcheck disable=SC2086
    unwritable "$analyze" $asked
  done
  unwritable "$compare" old.h5 same.h5
  unwritable "$compare" old.h5 same.h5 --output-json
  unwritable "$compare" --help
  unwritable "$compare" --version
fi
# A reader that has seen enough is no failure, whether SIGPIPE ends the program or is ignored.
for trapped in "" "trap '' PIPE;"; do
  for line in "'$analyze' --list-metrics" "'$analyze' '$traces' -o piped.h5 -q" "'$compare' old.h5 same.h5"; do
    bash -c "$trapped { sleep 0.3; $line; } 2>err | true; cat err >&2" >out 2>said
    expect "a closed pipe is quiet: $trapped $line" silent_about said 'stdout'
  done
done
# A disk that is full is a failure, one that is read-only a bad place; neither keeps anything.
mkdir disk
if mount -t tmpfs -o size=4k,nr_inodes=9 none disk 2>/dev/null; then
  trap 'umount -l disk; rm -rf "$folder"' EXIT
  head -c 4096 /dev/zero >disk/full
  exits 1 "$analyze" "$traces" -o disk/x.h5 -q
  expect "what is wrong" says err "cannot write 'disk/x.h5' \\(No space left on device\\)"
  exits 1 "$compare" old.h5 same.h5 -o disk/x.h5
  expect "what is wrong" says err "cannot write 'disk/x.h5' \\(No space left on device\\)"
  touch disk/{1,2,3,4,5,6,7} 2>/dev/null
  exits 1 "$analyze" "$traces" -o disk/x.h5 -q
  expect "without inodes, too" says err "cannot write 'disk/x.h5' \\(No space left on device\\)"
  expect "nothing is left there" [ -z "$(find disk -name 'x.h5*')" ]
  mount -o remount,ro disk
  refused "--report-dir disk/deep/reports (Read-only file system in disk)" "$analyze" "$traces" --report-dir disk/deep/reports
  refused "output disk/x.h5 (Read-only file system in disk)" "$analyze" "$traces" -o disk/x.h5
  exits 2 "$compare" old.h5 same.h5 -o disk/x.h5
  expect "what is wrong" says err "cannot write 'disk/x.h5' \\(Read-only file system\\)"
fi
expect "nothing half-written stays" [ -z "$(find . -name '*.tmp*')" ]
conclude "outputs are put where they should be"
