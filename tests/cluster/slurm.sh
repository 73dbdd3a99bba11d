#!/bin/bash
# The Slurm recipe of docs/cluster.md on a cluster of four nodes that are all this machine: an array of eight tasks over
# three of them makes a study of 60 runs, while a node is taken down, a task is requeued, others are preempted by a job of
# higher priority, tasks ask for another turn and one more job meets its time limit. What comes out is compared with what one worker makes.
#
#     slurm.sh SURD FOLDER
#
# Needs slurmctld, slurmd, slurm-client and munge; runs as root. FOLDER is made, and holds every log afterwards.
set -euo pipefail

tests=$(realpath "$(dirname "$0")")
. "$tests/wait_for.sh"
surd=$(realpath "$1")
mkdir -p "$2"
folder=$(realpath "$2")
export SLURM_CONF=$folder/slurm.conf
mkdir -p "$folder"/{state,spool,log,run}

cleanup() {
  scancel --user root 2>/dev/null || true
  for process in "${daemons[@]}"; do kill "$process" 2>/dev/null || true; done
}
daemons=()
trap cleanup EXIT

host=$(hostname)
cat >"$SLURM_CONF" <<CONF
ClusterName=study
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=16917
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$folder/run/munge.socket
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
StateSaveLocation=$folder/state
SlurmctldPidFile=$folder/run/slurmctld.pid
SlurmdPidFile=$folder/run/slurmd-%n.pid
SlurmdSpoolDir=$folder/spool/%n
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MinJobAge=3600
KillWait=10
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
NodeName=node[1-4] NodeHostname=$host NodeAddr=127.0.0.1 Port=[17101-17104] CPUs=2 State=UNKNOWN
PartitionName=all Nodes=node[1-4] Default=YES MaxTime=INFINITE State=UP PriorityTier=1
PartitionName=urgent Nodes=node[1-4] MaxTime=INFINITE State=UP PriorityTier=10 PreemptMode=OFF
CONF

start() {
  "$@" >>"$folder/log/${1##*/}.log" 2>&1 &
  daemons+=($!)
}
head -c 1024 /dev/urandom >"$folder/munge.key"
chmod 400 "$folder/munge.key"
start munged --foreground --force --key-file="$folder/munge.key" --socket="$folder/run/munge.socket" \
  --pid-file="$folder/run/munged.pid" --log-file="$folder/log/munged.log" --seed-file="$folder/run/munged.seed"
sleep 1
start slurmctld -D
for node in 1 2 3 4; do start slurmd -D -N "node$node"; done

idle_nodes() { [[ $(sinfo --noheader --Node --partition=all --format=%t 2>/dev/null | grep -c idle) == 4 ]]; }
wait_for "four nodes are there" 60 idle_nodes

cat >"$folder/study.yaml" <<STUDY
title: A study for a cluster
base:
  task: {name: reverse, train_size: 500, valid_size: 50, test_size: 1}
  model: {d_model: 32, heads: 2, encoder_layers: 1, decoder_layers: 1}
  train: {updates: 1500, evaluate_every: 500}
arms: [{name: low}, {name: high, set: {optimizer.learning_rate: 0.003}}]
metrics: [{name: loss, kind: final_value}]
hypotheses: [{name: H, metric: loss, arm: {arm: high}, against: {arm: low}, expect: lower}]
seeds: 30
STUDY
study=$folder/study
"$surd" study run "$folder/study.yaml" --out "$study" --jobs 0 --keep-checkpoints
"$surd" study run "$folder/study.yaml" --out "$folder/alone" --jobs 1 --keep-checkpoints >"$folder/log/alone.log"

done_runs() { "$surd" study status --json "$study" | python3 -c 'import json, sys; print(json.load(sys.stdin)["finished"])'; }
submit() { sbatch --parsable --chdir="$folder" --output="$folder/log/task-%A-%a.log" --exclude=node4 \
    --open-mode=append --requeue -t 1 "$@"; }
array=$(submit --array=0-7 --wrap "exec $surd study work $study --for 20s --idle 60s --requeue")
limited=$(submit --wrap "exec $surd study work $study")
echo "array $array, and $limited, which is not told its time"
at_least() { (($(done_runs) >= $1)); }
wait_for "the first five runs are made" 120 at_least 5
scontrol update NodeName=node2 State=DOWN Reason=test
echo "node2 is down"
wait_for "ten runs are made" 120 at_least 10
running_task() { task=$(squeue --noheader --states=R --array --job="$array" --format=%i | head -1) && [[ -n $task ]]; }
wait_for "a task is running" 300 running_task
scontrol requeue "$task"
echo "task $task was requeued"
urgent=$(sbatch --parsable --partition=urgent --exclude=node2,node4 --nodes=2 --ntasks-per-node=1 --cpus-per-task=2 -t 1 \
  --output=/dev/null --wrap 'sleep 5')
preempted() { grep -q "preempted JobId=.* has been requeued" "$folder/log/slurmctld.log"; }
wait_for "job $urgent has preempted a task" 120 preempted
complete() { "$surd" study status --json "$study" | grep -q '"complete": true'; }
wait_for "the study is complete" 1200 complete
scontrol update NodeName=node2 State=RESUME 2>/dev/null || true  # it may have come back by itself
no_jobs() { [[ -z $(squeue --noheader) ]]; }
wait_for "every task has ended" 300 no_jobs

for job in "$array" "$limited"; do
  scontrol --oneliner show job "$job" | grep -oE '(ArrayTaskId|JobId|JobState|Restarts|ExitCode)=[^ ]*' | paste -sd ' ' | sed 's/ JobId/\nJobId/g'
done | tee "$folder/log/jobs"
grep -q 'Restarts=[1-9]' "$folder/log/jobs"
for made in study alone; do "$surd" study report "$folder/$made" >/dev/null; done
python3 "$tests/expect_same_results.py" "$study" "$folder/alone" 60 "$folder"/log/task-*.log
