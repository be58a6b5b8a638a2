# Shared by jobs/demo.sh and tests/run.sh (sourced, not run): install what is missing, configure, build, set up MPI.
# Safe to repeat. Works as root and as a user with sudo; without either it names the packages and stops.
#   CCL_NO_INSTALL=1   never call apt
#   BUILD=DIR          build folder, default build/release

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
BUILD=${BUILD:-$top/build/release}

build_packages="g++ cmake ninja-build pkg-config openmpi-bin libopenmpi-dev libhdf5-openmpi-dev libsimdjson-dev
  libyaml-cpp-dev libcli11-dev libfmt-dev libtomlplusplus-dev libssl-dev zlib1g-dev libisal-dev libsqlite3-dev
  libgtest-dev libgmock-dev"
test_packages="$build_packages python3 python3-h5py python3-numpy python3-pandas libbenchmark-dev"

# For jobs/plot and the test of its report in a browser; where they cannot be had, those tests are skipped.
figure_packages="python3-matplotlib chromium"

# For the test of slurm/ on a throw-away cluster. They bring services, so only a CI machine gets them unasked.
cluster_packages="slurmctld slurmd slurm-client munge"

say() { printf '%s\n' "$*" >&2; }
die() { say "error: $*"; exit 1; }

# quietly WHAT COMMAND...: one line while all is well, the end of its output when it fails
quietly() {
  local what=$1 log
  shift
  mkdir -p "$BUILD" || die "cannot write in $BUILD"
  log=$BUILD/$(printf '%s' "$what" | tr -c 'a-z\n' '_').log
  say "== $what (its output: $log)"
  "$@" >"$log" 2>&1 </dev/null && return
  tail -n 60 "$log" >&2
  die "$what failed; all of its output is in $log"
}

missing_packages() {
  local package
  for package in "$@"; do
    dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed || printf '%s ' "$package"
  done
}

# install PACKAGE...: no apt, no network and no sudo when nothing is missing
install() {
  local missing as_root=()
  if ! command -v dpkg-query >/dev/null; then
    say "== not a Debian system: nothing is installed; needed are (Debian names): $*"
    return
  fi
  missing=$(missing_packages "$@")
  [ -n "$missing" ] || return 0
  [ -z "${CCL_NO_INSTALL:-}" ] || die "packages are missing (CCL_NO_INSTALL is set): $missing"
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || die "packages are missing and neither root nor sudo is here to install them: $missing"
    as_root=(sudo)
    # Asking for a password needs a terminal.
    [ -t 0 ] || as_root=(sudo -n)
    "${as_root[@]}" true 2>/dev/null || die "packages are missing and sudo does not let us install them: $missing"
  fi
  as_root+=(env DEBIAN_FRONTEND=noninteractive)
  quietly "package lists" "${as_root[@]}" apt-get -o DPkg::Lock::Timeout=300 update
  # shellcheck disable=SC2086
  quietly "installing packages" "${as_root[@]}" apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends $missing
}

# install_if_there PACKAGE...: what this system's package lists know; a failure is said and is no error
install_if_there() {
  local package known=()
  [ -z "${CCL_NO_INSTALL:-}" ] && command -v apt-cache >/dev/null || return 0
  for package in $(missing_packages "$@"); do
    apt-cache show "$package" >/dev/null 2>&1 && known+=("$package")
  done
  [ ${#known[@]} = 0 ] || (install "${known[@]}") || say "== going on without: ${known[*]}"
}

# Compilers take up to 1.5 GB each.
parallel_jobs() {
  local cores memory_kb by_memory
  cores=$(nproc)
  memory_kb=$(awk '/^MemAvailable:/ {print $2}' /proc/meminfo)
  by_memory=$((memory_kb / 1500000))
  [ "$by_memory" -ge 1 ] || by_memory=1
  echo $((cores < by_memory ? cores : by_memory))
}

# build TARGET...: Release; a folder configured for another place of the source is made anew
build() {
  local cache=$BUILD/CMakeCache.txt generator=()
  if [ -f "$cache" ] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$top" "$cache"; then rm -rf "$BUILD"; fi
  [ -f "$cache" ] || ! command -v ninja >/dev/null || generator=(-G Ninja)
  quietly "configuring" cmake "${generator[@]}" -S "$top" -B "$BUILD" -DCMAKE_BUILD_TYPE=Release \
    -DCCL_PYTHON="$(find_python)"
  quietly "building" cmake --build "$BUILD" --parallel "$(parallel_jobs)" --target "$@"
}

# The first interpreter that can read HDF5; empty if there is none
find_python() {
  local python
  for python in "${CCL_PYTHON:-}" python3 /usr/bin/python3 python; do
    [ -n "$python" ] && "$python" -c 'import h5py, numpy' >/dev/null 2>&1 && command -v "$python" && return
  done
  return 0
}

# What Open MPI wants to hear as root, in containers and on machines with few cores; other MPIs do not listen.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 \
  PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe OMPI_MCA_btl_tcp_if_include=lo OMPI_MCA_oob_tcp_if_include=lo \
  OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl_vader_single_copy_mechanism=none
