#!/usr/bin/env bash
# ccl-compare on result files of planted jobs: a known slowdown, the same job with other jitter, another model.
#   compare.sh CCL_ANALYZE CCL_COMPARE CCL_SYNTH
set -u
analyze=$1 compare=$2 synth=$3
source "$(dirname "${BASH_SOURCE[0]}")/../support/expect.sh"
# run CODE ARGUMENT...
run() {
  local wanted=$1
  shift
  exits "$wanted" "$compare" "$@"
}

# plant NAME OPTION...: a job of 8 ranks and 6 steps as NAME.h5
plant() {
  local name=$1
  shift
  if ! "$synth" --preset tiny --no-faults --steps 6 --jitter 0.01 --memory -o "$name" "$@" >out 2>&1 ||
    ! timeout 60 "$analyze" "$name" -o "$name.h5" -q >out 2>err; then
    cat out err
    exit 1
  fi
}
slower=()
for rank in 0 1 2 3 4 5 6 7; do slower+=(--fault "slow_rank:rank=$rank,factor=1.07"); done
plant base --seed 1
plant again --seed 2
plant slow --seed 3 "${slower[@]}"
# The same job once more with the end of rank 3 cut off, and with rank 5 gone.
for lacking in cut gone; do
  cp -r again "$lacking"
  if [ "$lacking" = cut ]; then truncate -s -2000 "$lacking"/profile_traces/*/rank3*; else rm "$lacking"/profile_traces/*/rank5*; fi
  timeout 60 "$analyze" "$lacking" -o "$lacking.h5" -q >out 2>err || exit 1
done
# And with the clock of rank 3 set to 1970.
cp -r again apart
for trace in apart/profile_traces/*/rank3*; do
  zcat -f "$trace" | sed 's/"baseTimeNanoseconds": *[0-9]*/"baseTimeNanoseconds": 1/' >moved
  case "$trace" in *.gz) gzip -c moved >"$trace" ;; *) cp moved "$trace" ;; esac
done
timeout 60 "$analyze" apart -o apart.h5 -q >out 2>err || exit 1
# And with a third of the communication of rank 4 in a group that no other rank knows.
cp -r again unmatched
for trace in unmatched/profile_traces/*/rank4*; do
  zcat -f "$trace" | awk '/"Process Group Name"/ && ++n % 3 == 0 { sub(/"Process Group Name": "[^"]*"/, "\"Process Group Name\": \"x\"")
    sub(/"Process Group Description": "[^"]*"/, "\"Process Group Description\": \"other\"") } 1' >moved
  case "$trace" in *.gz) gzip -c moved >"$trace" ;; *) cp moved "$trace" ;; esac
done
timeout 60 "$analyze" unmatched -o unmatched.h5 -q >out 2>err || exit 1
timeout 60 "$analyze" base --metric iter_time -o few.h5 -q >out 2>err || exit 1
plant other --seed 4 --hidden 512 --local-batch 2

run 0 base.h5 again.h5
expect "the same job: nothing changed" says out '^answer +no significant change in any of [0-9]+ figures'
expect "no word on shares then" silent_about out 'shares \(changes in pt\) move'

run 0 base.h5 unmatched.h5
expect "waits are not compared where matching is lost" \
  says out '^not compared +straggler_lag: matched collectives, on which it rests, hold 100\.0 %'
expect "so they are neither better nor the same" silent_about out 'wait for late ranks per rank and step'
run 2 base.h5 unmatched.h5 --fail-if 'straggler_lag>+3%'
expect "nor is a bound on them kept" says out "NOT JUDGED"

run 0 base.h5 slow.h5 -o c.h5
expect "compute is 7 % slower" says out 'compute per GPU and step .* \+(6\.9|7\.0|7\.1) % .* worse'
expect "so is each rank" [ "$(sed -n '/^ranks: compute/,/^$/p' out | grep -cE 'rank [0-7] .* \+(6\.[89]|7\.[0-2]) % .* worse')" = 8 ]
expect "so is each micro-batch, but for its communication" says out 'time of a micro-batch .* \+6\.[5-7] % .* worse'
expect "shares move along, and it is said" says out '^note +shares \(changes in pt\) move when the step time moves'
expect "no rank is slower than its peers" says out 'slowdown against peers .* 1\.00[0-9] x .* [+-]0\.[0-9] % .* ='
expect "memory does not move" says out 'peak of memory reserved, per rank .* \+0\.0 % .* ='
expect "bytes are the same" says out 'bytes on the wire per rank and step .* ='
expect "a rate has its unit in the row" says out '^  throughput, tokens/s +[0-9]+ +[0-9]+ '
expect "a page has at most 100 columns" silent_about out '.{101}'
expect "the HDF5 file" [ -s c.h5 ]

run 0 base.h5 slow.h5 --output-json
expect "one line of JSON" [ "$(wc -l <out)" = 1 ]
expect "its verdict" says out '"figure": "step time, slowest rank".{0,300}"verdict": "worse"'

run 5 base.h5 slow.h5 --fail-if 'iter_time>+3%'
expect "says which bound" says out '^fail-if +iter_time>\+3%: BROKEN'
run 0 base.h5 slow.h5 --fail-if 'iter_time>+20%'
run 0 base.h5 again.h5 --fail-if 'iter_time>+0%' --fail-if 'mfu<-0%'
run 5 base.h5 again.h5 --fail-if 'comm_comp_overlap.communication_ns>1us'
run 5 base.h5 slow.h5 --fail-if 'microbatch>+5%' --fail-if 'what_if>+1%'
expect "only the bound of the micro-batches" [ "$(grep -c BROKEN out)" = 1 ]
run 5 base.h5 again.h5 slow.h5 --fail-if 'iter_time>+3%'

run 0 base.h5 again.h5
expect "whole runs are called complete" says out 'complete$'
expect "and nothing is incomplete" silent_about out 'incomplete'
run 0 base.h5 cut.h5
expect "a damaged rank is named" says out '^second +cut.h5: 8 of 8 ranks analysed, 1 of them in part: rank 3 \(step 9 lost with the'
expect "how many are whole" says out '^note +coverage: 8 of 8 ranks against 8 of 8 ranks, 7 of them whole$'
expect "and only the first is called complete" [ "$(grep -c 'complete$' out)" = 1 ]
expect "what the verdicts rest on" says out '^incomplete +second: damaged rank 3; '
expect "the answer is qualified" says out '^answer +with incomplete data: '
run 0 gone.h5 base.h5 --fail-if 'iter_time>+50%'
expect "a missing rank is named" says out '^incomplete +first: missing rank 5; '
expect "a bound is qualified" says out '^fail-if .*: kept \(incomplete data\)'
run 0 base.h5 apart.h5
expect "what a run calls unknown is not compared" silent_about out '(what if|critical path)'
expect "and is named" says out '^not compared  what_if: absent, the clocks'
run 2 base.h5 apart.h5 --fail-if 'what_if>1.2'
expect "nor judged" says err 'what_if is absent, the clocks of the ranks are known to'
run 2 base.h5 gone.h5 --fail-if 'straggler_lag>+3%' --fail-if 'straggler_lag.lateness_ns>+3%' --fail-if 'iter_time>+50%'
expect "what is not compared is not judged" says out '^fail-if +straggler_lag>\+3%: NOT JUDGED \(no step has the same ranks in both runs\)'
expect "nor is another column of it" says out '^fail-if +straggler_lag\.lateness_ns>\+3%: NOT JUDGED'
expect "what is compared is judged" says out '^fail-if +iter_time>\+50%: kept \(incomplete data\)'
expect "a gate's log names it" says err "^ccl-compare: --fail-if 'straggler_lag>\+3%' cannot be judged \(no step has"
run 5 base.h5 gone.h5 --fail-if 'straggler_lag>+3%' --fail-if 'coll_call_num>0'
run 2 base.h5 gone.h5 --fail-if 'straggler_lag>1s' --output-json
expect "in JSON too" says out '"outcome": "not_judged", "why": "no step has the same ranks in both runs"'
# A rank that is slow in the last two steps moves no median.
plant late --seed 1 --fault slow_rank:rank=5,factor=1.4,from=8
run 5 base.h5 late.h5 --fail-if new_straggler --fail-if 'iter_time>+3%'
expect "only its mean moved" says out '^answer +no significant change .*single steps differ: step time, slowest$'
expect "who is late" says out '^late +first none; second rank 5 since step 8 \([0-9.]+ ms a step\)$'
expect "the bound that sees it" says out '^fail-if +new_straggler: BROKEN by rank 5 since step 8 '
expect "the bound on the median does not, and that is said" says out 'its mean moved by \+[0-9.]+ %: single steps differ'
run 0 late.h5 base.h5 --fail-if new_straggler
expect "none is new" says out '^fail-if +new_straggler: kept$'
run 5 base.h5 late.h5 --fail-if new_straggler --output-json
expect "in JSON too" says out '"outcome": "broken", "why": "rank 5 since step 8 '
run 0 base.h5 late.h5 --metric iter_time
expect "not of what was not asked for" silent_about out '^late'
run 0 base.h5 again.h5 --fail-if new_straggler
expect "the same ranks are not named twice" silent_about out '^late'
run 2 base.h5 gone.h5 --fail-if new_straggler
expect "a rank that is gone may be late" says out '^fail-if +new_straggler: NOT JUDGED \(the second run lacks rank 5 or a part of it\)'
run 2 cut.h5 cut.h5 --fail-if new_straggler
expect "also where both runs lost it" says out '^fail-if +new_straggler: NOT JUDGED \(the second run lacks rank 3 or a part of it\)'
# A rank that is late in the second of two iterations, of which its file is gone.
plant parts --seed 1 --steps-per-iteration 3
plant parts_late --seed 1 --steps-per-iteration 3 --fault slow_rank:rank=5,factor=1.4,from=7
run 5 parts.h5 parts_late.h5 --fail-if new_straggler
rm parts_late/profile_traces/iteration_10/rank5*
timeout 60 "$analyze" parts_late -o parts_gone.h5 -q >out 2>err || exit 1
expect "the page names it" says out '^ranks +8 of 8 analysed, 1 of them in part: rank 5 \(no trace in iteration_10\)'
expect "and that it is not judged there" says out '^ +not judged: rank 5 in any step of iteration_10 \(no trace there\)'
run 2 parts.h5 parts_gone.h5 --fail-if new_straggler
expect "a rank that is gone from one iteration may be late" \
  says out '^fail-if +new_straggler: NOT JUDGED \(the second run lacks rank 5 or a part of it\)'
expect "what is incomplete" says out '^incomplete +second: missing in an iteration rank 5; without GPU numbers: rank 5 in'
run 2 base.h5 few.h5 --fail-if new_straggler
run 0 cut.h5 gone.h5 --output-json
expect "in JSON too" says out '"first_run": "8 of 8 ranks analysed, 1 of them in part: rank 3 \(step 9 lost with the damage\); 6 steps'
expect "who lacks what" says out '"incomplete": \["first: damaged rank 3", "first: without GPU numbers: rank 3 in step 9 \(lost with the damage of the file\)", "second: missing rank 5"\]'

run 0 base.h5 few.h5
expect "a metric that was not computed is named" says out 'kernel: missing in few\.h5'
expect "and is not gone" silent_about out 'gone'

run 2 base.h5 other.h5
expect "another model is refused with the reason" says err '^ccl-compare: .*cannot be compared \(different '
run 0 base.h5 other.h5 --force
expect "forced, and said" says out '^forced +different '
run 2 base.h5
run 2 base.h5 nowhere.h5
run 2 base.h5 compare.txt
echo 'no HDF5' >notes.h5
run 2 base.h5 notes.h5
expect "what is wrong with the file" says err "^ccl-compare: cannot read 'notes.h5' \(it is no HDF5 file\)"
run 0 base.h5 again.h5 --metric what_if
expect "one is one" says out '^answer +no significant change in the one figure'
run 2 base.h5 again.h5 --fail-if 'iter_time>3%'
expect "the sign was forgotten" says err "For a change write 'iter_time>\+3%'"
run 2 base.h5 again.h5 --fail-if 'mfu<2ms'
run 2 base.h5 again.h5 --fail-if 'iter_time>3'
expect "the unit was forgotten" says err "Write 'iter_time>3ms', or 'iter_time>\+3%' for a change"
run 2 base.h5 again.h5 --fail-if 'comm_comp_overlap.exposed_ns > 3'
run 2 base.h5 again.h5 --fail-if 'iter_time>3GB'
expect "its units are told" says err 'Its units are ns, us, ms, s'
run 5 base.h5 again.h5 --fail-if 'mfu<0.999'
run 2 base.h5 again.h5 --fail-if 'pipeline_bubble>10'
expect "a share of 1000 % was not meant" says err "pipeline bubble is a share: 1 is all of it\). Write 'pipeline_bubble>10%' if you"
run 2 base.h5 again.h5 --fail-if 'gpu_utilization<80'
run 2 base.h5 again.h5 --fail-if 'efficiency.load_balance_ratio<1'
run 5 base.h5 again.h5 --fail-if 'pipeline_bubble>10%' --fail-if 'gpu_utilization<100%' --fail-if 'pipeline_bubble>0.1'
expect "each of them" [ "$(grep -c BROKEN out)" = 3 ]
for key in straggler_lag.rank iter_time.step iter_time.iteration pipeline_bubble.stage; do
  run 2 base.h5 again.h5 --fail-if "$key>3"
  expect "$key is no quantity" says err 'says whose row it is and measures nothing\). Its columns are '
done
run 2 base.h5 again.h5 --fail-if 'what_if>1%'
expect "a factor is no percentage" says err "not measured in %\). For a change write 'what_if>\+1%'"
run 0 base.h5 again.h5 --fail-if 'what_if>1.05' --fail-if 'what_if.slowdown_ratio>1.05x' --fail-if 'what_if>+1%'
expect "a factor and its change" [ "$(grep -cE 'kept \(1\.00[0-9] x -> 1\.00[0-9] x, [+-]0\.[0-9] %\)' out)" = 3 ]
run 5 base.h5 again.h5 --fail-if 'what_if>0.9'
run 5 base.h5 again.h5 --fail-if 'throughput_tokens<1e12tokens/s' --fail-if 'throughput_tokens<1e12'
expect "a rate with its unit and without" [ "$(grep -c BROKEN out)" = 2 ]
run 2 base.h5 again.h5 --fail-if 'throughput_tokens<1e12samples/s'
expect "another unit" says err 'throughput is not measured in samples/s\). Leave the unit out, or write tokens/s\.'
run 2 base.h5 again.h5 --fail-if 'iter_time>3tokens/s'
run 5 base.h5 slow.h5 --fail-if 'throughput_tokens<-2%'
expect "and in the line of a bound" says out 'BROKEN \([0-9]+ tokens/s -> [0-9]+ tokens/s, -'
run 5 base.h5 slow.h5 --fail-if 'mfu<-2%' --fail-if 'mfu<-5pt'
expect "percent of a share" says out '^fail-if +mfu<-2%: BROKEN \([0-9.]+ % -> [0-9.]+ %, -1\.[0-9] pt or -[4-7]\.[0-9] %\)'
expect "points of it" says out '^fail-if +mfu<-5pt: kept '
run 2 base.h5 again.h5 --fail-if 'iter_time>+2pt'
expect "a time has no points" says err 'points \(pt\) are of shares, and step time, slowest rank is none\). Write the change in %'
run 5 base.h5 again.h5 --fail-if 'coll_call_num>0'
run 5 base.h5 again.h5 --fail-if 'iter_time>-50%'
expect "a gain that did not happen" says out '^fail-if +iter_time>-50%: BROKEN'
run 2 base.h5 again.h5 --fail-if 'iter_tme>+3%'
expect "a suggestion" says err "Did you mean 'iter_time'"
run 2 base.h5 again.h5 --fail-if 'wait for late ranks>+3%'
expect "the metric of a row" says err "The row 'wait for late ranks per rank and step' is straggler_lag\."
run 2 base.h5 again.h5 --fail-if 'waiting>+3%'
expect "where the metrics are" says err 'See --help: it has the metric of every row'
run 2 base.h5 again.h5 --fail-if 'cpu_overhead>+1%'
expect "the columns that there are" says err 'Write cpu_overhead\.COLUMN with one of the columns period_ns, idle_ns, starved_ns, '
run 2 base.h5 again.h5 --fail-if 'cpu_overhead.starved>+1%'
expect "the column that is meant" says err "Did you mean 'starved_ns'|Its columns are period_ns, idle_ns, starved_ns, "
run 0 --help
expect "every row's metric" says out '^  straggler_lag  +wait for late ranks per rank and step$'
expect "and column" says out '^  iter_time\.period_ns  +period on the GPU, slowest rank$'
sed -n '/^Rows of the page/,$s/^  \([^ ]*\) .*/\1/p' out >names
expect "all are listed" [ "$(wc -l <names)" -ge 28 ]
while read -r name; do
  "$compare" base.h5 again.h5 --fail-if "$name<+1000%" >/dev/null 2>err
  expect "no bound can name $name" silent_about err 'no metric|no number column|no main figure|has no rows'
done <names
run 2 base.h5 again.h5 --fial-if 'x>1'
expect "a suggestion" says err "Did you mean '--fail-if'"
run 2 base.h5 again.h5 --metric iter_tme
expect "each metric is listed once" [ "$(grep -o iter_time err | wc -l)" = 2 ] # and once in "Did you mean"
run 2 base.h5 again.h5 -o nowhere/c.h5
run 2 base.h5 again.h5 -o ''
expect "an empty name is no name" says err '^ccl-compare: output \(the name is empty\)'
run 2 base.h5 again.h5 --metric ''
run 2 base.h5 again.h5 -o a.h5 -o b.h5
run 2 base.h5 again.h5 --top 5 --top 6
expect "two of one option" says err '^ccl-compare: --top \(given twice: 5 and 6\)\. Give one\.$'
run 2 base.h5 again.h5 --top
expect "an option without its value" says err '^ccl-compare: option --top \(needs a value\)'
run 2 base.h5 again.h5 --force=3
expect "a flag with one" says err '^ccl-compare: option --force \(takes no value\)$'
timeout 60 "$analyze" base --step 5,6 -o two.h5 -q >out 2>err || exit 1
run 0 base.h5 two.h5
expect "steps that were asked for" says out '^note +steps: all against 5, 6$'

conclude "all comparisons as they should be"
