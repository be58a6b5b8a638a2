#!/usr/bin/env bash
# One rule of the house per call: check.sh RULE SOURCE_DIR. Prints what breaks the rule; exit 1 if anything does.
set -euo pipefail
rule=$1
cd "$2"

# Tracked files where git can tell, else all but build folders and results.
files() {
  git ls-files 2>/dev/null | grep . ||
    find . -type f -not -path './.git/*' -not -path './build*' -not -name '*.h5' -not -path '*/__pycache__/*' | sed 's|^\./||'
}
texts() { files | grep -E '\.(cpp|hpp|c|h|py|sh|sbatch|cmake|txt|yaml|yml|md)$|^\.ci/run$' || true; }

# fail_on WHY: every line on stdin is a breach
fail_on() {
  local found
  found=$(cat)
  [ -z "$found" ] && return
  printf '%s:\n%s\n' "$1" "$found"
  exit 1
}

includes_only_in() {
  { texts | grep -E '\.(cpp|hpp)$' | xargs grep -lE "^ *# *include *[<\"]$1[>\"]" || true; } | { grep -vxF "$2" || true; } |
    fail_on "$1 is included elsewhere than in $2"
}

case $rule in
  mpi_in_one_file) includes_only_in mpi.h src/comm/comm_mpi.cpp ;;
  hdf5_in_one_file)
    includes_only_in hdf5.h src/store/hdf5_handle.hpp
    { texts | grep -E '\.(cpp|hpp)$' | grep -vE '^src/store/hdf5_[a-z]+\.cpp$' | xargs grep -l 'hdf5_handle\.hpp"' || true; } |
      fail_on "HDF5 handles are used outside src/store/hdf5_*.cpp" ;;
  files_are_short)
    # The page of the metrics is generated from their own texts.
    texts | grep -vxF src/metrics/README.md | while read -r file; do
      lines=$(wc -l <"$file")
      [ "$lines" -le 400 ] || echo "$file: $lines lines"
    done | fail_on "more than 400 lines" ;;
  top_level_is_fixed)
    files | cut -d/ -f1 | sort -u |
      { grep -vxE '\..*|CMakeLists\.txt|LICENSE|README\.md|src|jobs|configs|tests|slurm' || true; } |
      fail_on "not allowed at the top level" ;;
  nothing_is_postponed)
    texts | { xargs grep -nE '\b(TO''DO|FIX''ME|XX''X)\b' || true; } | fail_on "marks of unfinished work" ;;
  only_main_prints)
    { texts | grep -E '^src/.*\.(cpp|hpp)$' | grep -vxE 'src/(compare/)?main\.cpp' |
      xargs grep -nE '\b(std::c(out|err|log)\b|(std::)?f?printf *\(|(std::)?f?puts *\(|(std::)?_?exit *\(|fmt::print)' || true; } |
      fail_on "only main prints and exits" ;;
  every_metric_is_registered_and_tested)
    { grep -lE 'return define_metric<' src/metrics/*.cpp || true; } | while read -r file; do
      name=$(basename "$file" .cpp)
      grep -qE "^ *$name,$" src/metrics/all_metrics.cpp || echo "$name: no line in src/metrics/all_metrics.cpp"
      ls tests/metrics/"$name"*_test.cpp >/dev/null 2>&1 || echo "$name: no tests/metrics/${name}_test.cpp"
    done | fail_on "metrics left out" ;;
  readme_names_exist)
    {
      metrics=$(sed -n 's/^std::unique_ptr<Metric> \([a-z_]*\)();$/\1/p' src/metrics/all_metrics.cpp)
      {
        sed -n '/^| word of the page/,/^$/p' README.md | sed 's/.*|\([^|]*\)|$/\1/' | grep -oE '`[a-z_]+`' | tr -d '`'
        grep -oE -- '--metric [a-z_]+|metrics/[a-z_]+/' README.md | tr '/' ' ' | cut -d' ' -f2
      } | sort -u | { grep -vxF "$metrics" || true; } | sed 's/$/: no such metric/'
      # Options of nsys, Megatron, CMake, GoogleTest and SLURM are not ours.
      others='--(cuda-memory-usage|gpu-metrics-devices|include-blobs|include-json|type|nvtx-ranges|build|install|prefix|parallel|mpi|nodes|gtest|test-dir)'
      grep -oE '(^|[^a-z-])--[a-z][a-z-]+' README.md | grep -oE -- '--[a-z-]+' | sort -u | { grep -vxE -- "$others" || true; } |
        while read -r option; do
          grep -qE -- "$option([^a-z-]|\$)" src/config/*.cpp src/compare/main.cpp slurm/*.sh slurm/*.sbatch ||
            echo "$option: no such option"
        done
      # --events has no page of its own among the schemas.
      grep -oE '`/[a-z_/]+(<n>/)?`' README.md | tr -d '`' | sed 's|/$||' | sort -u | while read -r path; do
        grep -qF "\`$path\`" src/store/schema/*.md ||
          { [ "${path%/*}" = /events ] && grep -qF "make_table(\"${path##*/}\"" src/store/event_tables.cpp; } ||
          echo "$path: no such dataset"
      done
    } | fail_on "names in README.md that do not exist" ;;
  *) echo "no such rule: $rule"; exit 1 ;;
esac
