#!/usr/bin/env bash
# Installs what is missing, builds, makes a demonstration set with the project's generator and analyses it with two
# MPI processes: bash jobs/demo.sh [options of ccl-analyze]
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../tests/setup.sh"

# shellcheck disable=SC2086
install $build_packages
build ccl-analyze ccl-compare ccl-synth

demo=$top/build/demo
rm -rf "$demo"
mkdir -p "$demo"
quietly "making the demonstration set" "$BUILD/tests/synth/ccl-synth" --preset tiny -o "$demo/traces" \
  --truth "$demo/truth.json" --seed 1
say "== mpirun -n 2 ccl-analyze --job jobs/demo.yaml"
exec timeout 600 mpirun -n 2 "$BUILD/src/ccl-analyze" --job "$top/jobs/demo.yaml" "$@" </dev/null
