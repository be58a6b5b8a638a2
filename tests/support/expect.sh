# For tests in shell (sourced): a scratch folder to work in, gone at the end, and expectations that are counted.
# What fails is followed by the files named in $shown.
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
failures=0
shown="out err"

complain() {
  echo "FAILED: $*"
  # shellcheck disable=SC2086
  tail -n 60 $shown 2>/dev/null | sed 's/^/    /'
  failures=$((failures + 1))
}
expect() {  # expect WHAT CONDITION...
  local what=$1
  shift
  "$@" || complain "$what"
}
exits() {  # exits CODE COMMAND...: what it prints goes to out and err
  local wanted=$1 code=0
  shift
  timeout 60 "$@" >out 2>err </dev/null || code=$?
  expect "exit $code instead of $wanted: $*" [ "$code" = "$wanted" ]
}
says() { grep -qE -- "$2" "$1"; }
silent_about() { ! says "$1" "$2"; }

# conclude WHAT: the last line of a test
conclude() {
  [ "$failures" = 0 ] && echo "$1"
  exit "$((failures > 0))"
}
