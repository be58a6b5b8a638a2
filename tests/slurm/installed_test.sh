#!/usr/bin/env bash
# What `cmake --install` leaves: programs and scripts that run from there, templates, the module file's paths.
#   installed_test.sh CMAKE BUILD_DIR SOURCE_DIR
set -u
source "$3/tests/support/expect.sh"
shown=err
"$1" --install "$2" --prefix "$folder/ccl" >out 2>err || complain "cmake --install"
share=ccl/share/ccl-analyze
for program in ccl-analyze ccl-compare; do
  expect "$program runs" says <(ccl/bin/$program --help 2>&1) "$program"
done
for script in jobs/plot/plot slurm/after-training.sh slurm/interactive.sh slurm/newest-iteration.sh slurm/propose.sh; do
  expect "$script can be run" [ -x "$share/$script" ]
done
expect "the templates are there" [ "$(find "$share/slurm" -name '*.sbatch' | wc -l)" = 4 ]
mkdir -p traces/iteration_3 && truncate -s 900M traces/iteration_3/rank{0,1,2,3}.json
echo '{"faults": []}' >traces/truth.json
"$share/slurm/propose.sh" traces >out 2>err || complain "propose.sh"
expect "truth.json is no trace" says out '^4 files, '
expect "it proposes" says out '^sbatch --nodes=1 --ntasks-per-node=1 --cpus-per-task=2 --time=3 slurm/analyze.sbatch traces$'
mkdir "two words" && truncate -s 9K "two words/rank0.JSON.GZ"
"$share/slurm/propose.sh" "two words" >out 2>err || complain "propose.sh of a folder with a space"
expect "a small set is said in MB" says out '^1 file, 0\.01 MB; about 1 s '
expect "its line can be pasted" says out 'slurm/analyze.sbatch two\\ words$'
refused() {  # WHAT SAYS COMMAND...
  local what=$1 words=$2
  shift 2
  "$@" >out 2>err
  expect "$what: exit code 2" [ $? = 2 ]
  expect "$what: one line says so" says err "$words"
}
refused "an option without its number" 'cores-per-node needs a number' "$share/slurm/propose.sh" traces --cores-per-node
refused "two folders" "not two: 'traces' and 'two words'" "$share/slurm/propose.sh" traces "two words"
refused "an option without its value" 'after needs a value' "$share/slurm/after-training.sh" 1 traces r.h5 --after
expect "the newest iteration" [ "$("$share/slurm/newest-iteration.sh" traces)" = 3 ]
# Every path of the module file must be one that was installed.
for path in $(sed -nE 's/^(setenv|prepend-path) +[A-Z_]+ +\$prefix/ccl/p' "$share/slurm/modules/ccl-analyze"); do
  expect "the module names what is there: $path" [ -e "$path" ]
done
conclude "what is installed can be used"
