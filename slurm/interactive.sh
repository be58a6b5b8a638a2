#!/usr/bin/env bash
# Analyses one trace set at once, in the foreground, with the page on the terminal:
#   slurm/interactive.sh TRACE_DIR [options of ccl-analyze]
# As many workers as propose.sh wants on one node, ten minutes at most. More options for srun, which win over those:
#   CCL_SRUN="--account=m1234 --constraint=cpu --qos=interactive"
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
[ -d "${1:-}" ] || { echo "usage: interactive.sh TRACE_DIR [options of ccl-analyze]" >&2; exit 2; }
tasks=$(bash "$here/propose.sh" "$1" --options | grep -oE 'ntasks-per-node=[0-9]+')
# shellcheck disable=SC2206
more=(${CCL_SRUN:-})
export HDF5_USE_FILE_LOCKING=${HDF5_USE_FILE_LOCKING:-FALSE}
exec srun --job-name=ccl-interactive --nodes=1 --"$tasks" --cpus-per-task=2 --time=10 --mpi="${CCL_MPI:-pmix}" \
  --cpu-bind="${CCL_CPU_BIND:-cores}" ${more[@]+"${more[@]}"} "${CCL_ANALYZE:-ccl-analyze}" "$@"
