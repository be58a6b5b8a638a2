#!/usr/bin/env bash
# Prints the number of the newest complete iteration_N folder below TRACE_DIR: complete = it has as many trace files as
# the fullest one. Prints nothing if there is no iteration folder; --all prints every number, oldest first.
set -euo pipefail
[ -d "${1:-}" ] || { echo "usage: newest-iteration.sh TRACE_DIR [--all]" >&2; exit 2; }
find -L "$1" -type f \( -name '*.json' -o -name '*.json.gz' -o -name '*.sqlite' \) -path '*/iteration_*/*' |
  sed -E 's|.*/iteration_([0-9]+)[^/]*/.*|\1|' | { grep -E '^[0-9]+$' || true; } | sort -n | uniq -c |
  awk -v all="${2:-}" '{ count[NR] = $1; number[NR] = $2; if ($1 > most) most = $1 }
    END { for (i = 1; i <= NR; i++) if (all == "--all") print number[i]; else if (count[i] == most) newest = number[i]
          if (all != "--all" && newest != "") print newest }'
