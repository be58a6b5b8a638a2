#!/usr/bin/env bash
# Installs what is missing, builds, and runs all tests: bash tests/run.sh [ctest options]
# With CCL_CORPUS=DIR the tests on real traces run too.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

# shellcheck disable=SC2086
install $test_packages
# shellcheck disable=SC2086
install_if_there $figure_packages
# shellcheck disable=SC2086
[ -z "${CI:-}" ] || install_if_there $cluster_packages
build all

say "== testing (some minutes; its output: $BUILD/testing.log)"
report=$BUILD/tests.xml
failed=0
ctest --test-dir "$BUILD" --output-on-failure --parallel "$(nproc)" --timeout 600 --output-junit "$report" "$@" \
  </dev/null >"$BUILD/testing.log" 2>&1 || failed=$?
if [ "$failed" != 0 ]; then
  grep -vE '^ *(Start +[0-9]+:|[0-9]+/[0-9]+ Test +#[0-9]+: .* Passed )' "$BUILD/testing.log" || true
  say "all of the output is in $BUILD/testing.log"
fi
python=$(find_python)
if [ -n "$python" ] && [ -f "$report" ]; then "$python" "$top/tests/report.py" "$report"; else tail -n 20 "$BUILD/testing.log"; fi
exit "$failed"
