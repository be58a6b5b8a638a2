#!/usr/bin/env bash
# What is said of an input that cannot be read: folders without permission, pipes, stdin, archives, files of options.
#   inputs.sh CCL_ANALYZE CCL_COMPARE CCL_SYNTH
set -u
analyze=$1 compare=$2 synth=$3
source "$(dirname "${BASH_SOURCE[0]}")/../support/expect.sh"

as=()
# refused TEXT PROGRAM ARGUMENT...: exit 2, one line with TEXT. stdin is a pipe.
refused() {
  local text=$1 code=0
  shift
  sleep 0 | timeout 60 "${as[@]}" "$@" >out 2>err || code=$?
  expect "exit $code instead of 2: $*" [ "$code" = 2 ]
  expect "lacks '$text': $*" grep -qF -- "$text" err
  expect "one line: $*" [ "$(wc -l <err)" = 1 ]
}

"$synth" --preset tiny --no-faults --steps 2 --seed 1 -o set >out 2>err || exit 1
traces=set/profile_traces
printf 'input: %s\n' "$traces" >job.yaml
printf '[training]\n' >training.toml

pipe="not a regular file: pipes and stdin are not read"
for name in - /dev/stdin; do refused "trace folder or file $name cannot be read ($pipe)" "$analyze" "$name"; done
refused "cannot read" "$analyze" --content-hash <(cat job.yaml)
refused "cannot be read ($pipe)" "$analyze" <(cat job.yaml)
refused "job file /dev/stdin ($pipe)" "$analyze" --job /dev/stdin
refused "job file - ($pipe)" "$analyze" --job -
for option in --card --config --megatron-args --host-map; do
  refused "$option /dev/stdin cannot be read ($pipe)" "$analyze" "$traces" $option /dev/stdin
done
refused "$pipe" "$analyze" "$traces" --settings /dev/stdin
refused "cannot read '/dev/stdin' ($pipe)" "$analyze" --content-hash /dev/stdin
refused "($pipe)" "$compare" /dev/stdin /dev/stdin
refused "job file $traces (a folder)" "$analyze" --job "$traces"
refused "--card nowhere.yaml cannot be read (no such file)" "$analyze" "$traces" --card nowhere.yaml

refused "A job file is given as --job job.yaml, a workload card as --card job.yaml" "$analyze" job.yaml
refused "A training configuration is given as --config training.toml" "$analyze" training.toml

# A trace that is still packed in a way that is not read, and an archive, beside good traces.
cp -r "$traces" packed
lone=$(find packed -name '*rank3*')
zst=${lone%.gz}.zst
printf '\x28\xb5\x2f\xfd and so on' >"$zst" && rm "$lone"
tar -cf packed/more.tar job.yaml
timeout 60 "$analyze" packed -o packed.h5 >out 2>err </dev/null || complain "traces beside archives"
expect "the archive is named, with what to do" says err '^not read: more\.tar: tar archive: unpack it with tar -xf$'
expect "the lost rank too" says err "^lost: rank 3, .*rank3.*\\.zst: json_invalid \\(.* a zstd file: unpack it with unzstd\\)"
cp "$traces"/*/rank3* "$(dirname "$zst")"
timeout 60 "$analyze" packed -o packed.h5 >out 2>err </dev/null || complain "traces beside their archives"
expect "a copy of a trace is not lost" silent_about err '^lost: '
expect "but named" says err '^not read: .*rank3.*\.zst: zstd file: unpack it with unzstd$'
mkdir lone && cp "$zst" lone
refused "(found 1 x zstd file). $(basename "$zst"): unpack it with unzstd." "$analyze" lone

# Without permission. root has them all, so another user asks.
if [ "$(id -u)" = 0 ]; then
  as=(setpriv --reuid 65534 --regid 65534 --clear-groups)
  chmod 755 . && mkdir open && chmod 777 open
  "${as[@]}" "$analyze" --version >out 2>err </dev/null || { echo "no other user can be tried"; as=(none); }
fi
if [ "${as[*]}" != none ]; then
  cp -r "$traces" locked && cp -r "$traces" unreadable && mkdir half && cp -r "$traces" half/locked
  cp job.yaml locked.yaml
  chmod 000 locked half/locked locked.yaml && chmod 000 unreadable/*/*
  refused "no usable trace in locked ($PWD/locked: Permission denied)" "$analyze" locked -o open/x.h5
  refused "no usable trace in half (locked: Permission denied)" "$analyze" half -o open/x.h5
  refused "trace folder or file locked/inside cannot be read (permission denied)" "$analyze" locked/inside -o open/x.h5
  refused "permission denied, and 7 more)" "$analyze" unreadable -o open/x.h5
  refused "job file locked.yaml (permission denied)" "$analyze" --job locked.yaml
  refused "--card locked.yaml cannot be read (permission denied)" "$analyze" "$traces" --card locked.yaml -o open/x.h5
  refused "cannot read 'locked.yaml' (permission denied)" "$analyze" --content-hash locked.yaml
  chmod -R u+rwX locked half unreadable
fi
conclude "inputs that cannot be read are named, with the reason"
