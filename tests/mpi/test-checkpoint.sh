#!/usr/bin/env bash
# test-checkpoint.sh [KILLS]: examples/checkpoint.c overwrites its checkpoints and is killed at any
# moment, its ranks alone or with the daemon: the newest checkpoint that it had announced, or a
# later one, is whole in the file.  Some of its ranks are late at any step (dawdle.h).  Another
# number of ranks goes on.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"
needs_plugin "a program that is compiled here and preloads it"
kills=${1:-3}
drawn=${SEED:-$RANDOM}
echo "SEED=$drawn"

# Of the job in this directory.
ranks() {
    local pid

    for pid in /proc/[0-9]*; do
        [[ $(readlink "$pid/exe" 2>/dev/null) == "$tmp/checkpoint" ]] && echo "${pid#/proc/}"
    done
}
announced() { sed -n 's/^checkpoint \([0-9]*\) is complete$/\1/p' "$tmp/out" | tail -n 1; }
has_announced() { (($(announced) + 0 >= $1)); }

# whole N PREFIX: the checkpoint found through PREFIX is whole and not older than number N.
whole() {
    local found

    mpi_quiet 2 "$tmp/checkpoint" "$2$root/state" read || fail "$1 was complete; $2: $(cat "$tmp/out")"
    found=$(sed -n 's/^checkpoint \([0-9]*\): .* 0 values are wrong$/\1/p' "$tmp/out")
    ((found >= $1)) || fail "$2: checkpoint ${found:-none}, and $1 was complete"
}

# killed_during DAEMONS WHAT: kills the job, or with "all" the daemon, too, during a checkpoint.
killed_during() {
    local until last job

    start_daemons "$1"
    mpi 3 "$tmp/checkpoint" "zcache:$root/state" write 100000 24M >"$tmp/out" 2>&1 </dev/null &
    job=$!
    wait_for 60 has_announced 2 || fail "$1 daemons: no checkpoint: $(cat "$tmp/out")"
    pick 3
    until=$(($(announced) + picked))
    wait_for 60 has_announced "$until" || fail "$1 daemons: $(cat "$tmp/out")"
    pick 100
    sleep "0.$((picked + 100))" # into the next one: the moment is what is drawn
    # shellcheck disable=SC2046 # process ids
    kill -KILL $(ranks) 2>/dev/null
    [[ $2 == job ]] || for i in "${!daemon_pids[@]}"; do stop_daemon "$i" KILL; done
    wait "$job"
    last=$(announced)
    if [[ $2 == all ]]; then
        daemon_pids=()
        unset ZCACHE_DAEMONS
    else
        whole "$last" zcache:
    fi
    whole "$last" ufs:
    [[ $2 == all ]] || stop_daemons || fail "$1 daemons: not drained"
    rm -f "$root/state" "$tmp"/*.addr
}

make_root
here=$(dirname -- "${BASH_SOURCE[0]}")
"$MPICC" -O2 -include "$here/dawdle.h" -o "$tmp/checkpoint" "$here/../../examples/checkpoint.c" \
    >"$tmp/out" 2>&1 || fail "checkpoint.c: $(cat "$tmp/out")"
for ((kill = 0; kill < kills; kill++)); do
    case $((kill % 3)) in
    0) killed_during 0 job ;;
    1) killed_during 1 all ;;
    2) killed_during 1 job ;;
    esac
done

# Goes on with another number of ranks, of which neither divides the values.
for n in 3 2; do
    mpi_quiet "$n" "$tmp/checkpoint" "zcache:$root/other" write 1 8000056 ||
        fail "a checkpoint of $n ranks: $(cat "$tmp/out")"
done
mpi_quiet 3 "$tmp/checkpoint" "ufs:$root/other" read || fail "read: $(cat "$tmp/out")"
grep -q '^checkpoint 2: .* 0 values are wrong$' "$tmp/out" || fail "read: $(cat "$tmp/out")"
