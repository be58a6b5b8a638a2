#!/usr/bin/env bash
# A throw-away SLURM cluster of two nodes on this machine, on loopback only:
#   cluster.sh FOLDER COMMAND...   starts it in FOLDER, runs the command with it, ends it; the command's exit code.
# Exit 77: it can not be started here, with the reason. Needs root (each node has its own host name and /dev/shm) and
# Debian's slurmctld, slurmd, slurm-client and munge. Every wait is bounded.
set -u
folder=$1
shift
nodes=2 cpus=4 port=${CCL_SLURM_PORT:-27917}

skip() { echo "skipped: $*"; exit 77; }
[ "$(id -u)" = 0 ] || skip "needs root"
for program in slurmctld slurmd munged srun sbatch unshare; do
  command -v "$program" >/dev/null || skip "$program is not installed"
done
unshare --uts --mount true 2>/dev/null || skip "this container may not make namespaces"

mkdir -p "$folder"/{munge,state,log}
chmod 755 "$folder" "$folder/munge"
export SLURM_CONF=$folder/slurm.conf
host=$(hostname -s)

end_all() {
  scancel --user=root 2>/dev/null
  local file pid
  for file in "$folder"/*.pid "$folder"/munge/*.pid; do
    [ -s "$file" ] || continue
    pid=$(cat "$file")
    kill "$pid" 2>/dev/null
    for _ in $(seq 50); do kill -0 "$pid" 2>/dev/null || continue 2; sleep 0.1; done
    kill -9 "$pid" 2>/dev/null
  done
}
trap end_all EXIT
began=$(date +%s.%N)

(umask 077 && head -c 512 /dev/urandom >"$folder/munge/key")
munged --key-file="$folder/munge/key" --socket="$folder/munge/socket" --pid-file="$folder/munge/munged.pid" \
  --log-file="$folder/log/munged" --seed-file="$folder/munge/seed" --num-threads=2 || skip "munged does not start"
{
  cat <<CONF
ClusterName=throwaway
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmUser=root
SlurmdUser=root
AuthInfo=socket=$folder/munge/socket
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool.%n
TmpFS=$folder/tmp.%n
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.%n.pid
SlurmctldLogFile=$folder/log/slurmctld
SlurmdLogFile=$folder/log/%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=2,batch_sched_delay=0
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=5
InactiveLimit=0
MailProg=/bin/true
PropagateResourceLimits=NONE
CONF
  for i in $(seq $nodes); do
    echo "NodeName=n$i NodeAddr=127.0.0.1 Port=$((port + i)) CPUs=$cpus RealMemory=500 State=UNKNOWN"
  done
  echo "PartitionName=all Nodes=ALL Default=YES MaxTime=60 State=UP"
} >"$SLURM_CONF"
{ echo "127.0.0.1 localhost $host"; for i in $(seq $nodes); do echo "127.0.0.1 n$i"; done; } >"$folder/hosts"

slurmctld -f "$SLURM_CONF" >"$folder/log/slurmctld.out" 2>&1 || skip "slurmctld does not start: $(tail -n 1 "$folder/log/slurmctld.out")"
for i in $(seq $nodes); do
  mkdir -p "$folder/spool.n$i" "$folder/tmp.n$i"  # PMIx of two nodes must not meet either
  # Shared memory of two nodes must not meet, or MPI takes them for one.
  unshare --uts --mount --propagation private sh -c "hostname n$i && mount --bind '$folder/hosts' /etc/hosts &&
    mount -t tmpfs -o size=512m tmpfs /dev/shm && exec slurmd -f '$SLURM_CONF' -N n$i" >"$folder/log/n$i.out" 2>&1 ||
    skip "slurmd does not start: $(tail -n 1 "$folder/log/n$i.out")"
done
for _ in $(seq 300); do
  [ "$(sinfo -h -N -t idle -o %N 2>/dev/null | sort -u | wc -l)" = $nodes ] && break
  sleep 0.1
done
[ "$(sinfo -h -N -t idle -o %N | sort -u | wc -l)" = $nodes ] || skip "nodes are not idle after 30 s: $(tail -n 1 "$folder/log/n1")"
awk -v began="$began" -v ended="$(date +%s.%N)" -v nodes=$nodes 'BEGIN { printf "%d nodes idle after %.1f s\n", nodes, ended - began }'

"$@"
