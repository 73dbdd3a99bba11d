#!/bin/bash
# Runs of several ranks beside runs of as many replicas, one of which a rank is killed and that another number of ranks
# resumes, and some of which a rank falls silent.
#
#     ranks.sh SURD FOLDER
#
# SURD is a build with -DSURD_MPI=ON. Needs openmpi-bin. FOLDER is made.
set -euo pipefail

. "$(dirname "$0")/wait_for.sh"
surd=$(realpath "$1")
mkdir -p "$2"
cd "$2"
rm -rf ./*
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_mpi_yield_when_idle=1

cat >config.yaml <<CONFIG
task: {name: reverse, train_size: 500, valid_size: 50, test_size: 1}
model: {d_model: 32, heads: 2, encoder_layers: 1, decoder_layers: 1}
train: {updates: 300, evaluate_every: 100, batch_size: 24, checkpoint_every: 1000}
CONFIG

for count in 2 3; do
  "$surd" train config.yaml --out "replicas-$count" --replicas "$count" >"replicas-$count.log"
  mpirun -n "$count" "$surd" train config.yaml --out "ranks-$count" --ranks >"ranks-$count.log" 2>&1
  cmp "replicas-$count/metrics.jsonl" "ranks-$count/metrics.jsonl"
  echo "$count ranks: the bits of $count replicas"
done

mpirun -n 3 "$surd" train config.yaml --set train.updates=20000 --out killed --ranks >killed.log 2>&1 &
until [[ -s killed/metrics.jsonl ]]; do sleep 0.1; done
sleep 2
begin=$SECONDS
kill -9 "$(pgrep -f "surd train config.yaml.*--out killed" | tail -1)"
wait $! && { echo "a rank was killed, and mpirun ended with 0" >&2; exit 1; }
said=$(grep -m1 'did not answer' killed.log)
echo "mpirun ended $((SECONDS - begin)) s after a rank was killed; it said: $said"
mpirun -n 2 "$surd" train config.yaml --set train.updates=20000 --out killed --ranks --resume >resumed.log 2>&1 &
until grep -q 'resuming after update' resumed.log; do sleep 0.1; done
grep 'resuming after update' resumed.log
sleep 2
kill -USR1 $!
wait $! || true
grep 'interrupted after update' resumed.log
updates=$(grep -c '"event":"update"' killed/metrics.jsonl)
[[ $(grep '"event":"update"' killed/metrics.jsonl | sort -u | wc -l) == "$updates" ]]
echo "stopped by USR1 to mpirun; $updates lines of updates, none twice"

# A rank that neither ends nor answers, as behind a link that is lost: the first, or another.
for silent in first last; do
  mpirun -n 2 "$surd" train config.yaml --set train.updates=20000 --out "$silent" --ranks --rank-timeout 5s \
    >"$silent.log" 2>&1 &
  mpirun=$!
  until [[ -s $silent/metrics.jsonl ]]; do sleep 0.1; done
  sleep 2
  mapfile -t ranks < <(pgrep -P "$mpirun")
  [[ ${#ranks[@]} == 2 ]]
  kill -STOP "${ranks[$([[ $silent == first ]] && echo 0 || echo 1)]}"
  begin=$SECONDS
  ended() { ! kill -0 "$mpirun" 2>/dev/null; }
  wait_for "mpirun ends without the $silent rank" 60 ended
  wait "$mpirun" && { echo "a rank was silent, and mpirun ended with 0" >&2; exit 1; }
  said=$(grep -m1 'did not answer' "$silent.log")
  echo "mpirun ended $((SECONDS - begin)) s after the $silent rank fell silent; it said: $said"
done
reached=$(grep -o 'update-[0-9]*' <(ls last/checkpoints) | tail -1)
echo "what was reached without the last rank: $reached"
