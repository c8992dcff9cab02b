#!/usr/bin/env bash
# A daemon is lost for good while a job writes.  With ZCACHE_ON_DAEMON_LOSS=bypass the job succeeds
# and every byte is right, also if the daemon wakes up afterwards; without, it gets an error.
# Daemons write nothing back by themselves, so their bytes are lost with them.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"
# A daemon that is there answers within that, also on a busy machine; each loss takes so long.
stretch 3
export ZCACHE_TIMEOUT=$((stretched < 12 ? stretched : 12))s

lazy=(--idle-time 0 --high-watermark 90% --low-watermark 80%)
turns=12

# lose DAEMONS LOSS LOCAL SIGNAL [--journal]: loses the last of them, in the fifth turn.  With
# `again` set the job opens the file once more when the daemon is back.
lose() {
    local daemons=$1 victim=$(($1 - 1)) job

    make_root
    start_daemons $((victim)) "${lazy[@]}"
    start_daemon "$victim" --root "$root" "${lazy[@]}" ${5:+"$5" "$tmp/journal"}
    ZCACHE_DAEMONS=${ZCACHE_DAEMONS:+$ZCACHE_DAEMONS,}$tmp/$victim.addr
    export ZCACHE_DAEMONS
    ZCACHE_ON_DAEMON_LOSS=$2 ZCACHE_LOCAL=$3 mpi 3 "$programs/t_replay" "zcache:$root/f" "$turns" \
        "$tmp" on 128M ${again:+again} >"$tmp/out" 2>&1 </dev/null &
    job=$!
    wait_for 60 test -e "$tmp/turn.5" || fail "$*: turn 5: $(cat "$tmp/out")"
    if [[ $4 == KILL ]]; then
        stop_daemon "$victim" KILL
        daemon_pids[victim]=
    else
        kill -STOP "${daemon_pids[victim]}"
    fi
    if [[ ${again:-} ]]; then
        wait_for 60 grep -q "bypassing a daemon" "$tmp/out" || fail "$*: $(cat "$tmp/out")"
        start_daemon "$victim" --root "$root" "${lazy[@]}"
        wait_for 60 grep -q "is there after" "$tmp/out" || fail "$*: $(cat "$tmp/out")"
        : >"$tmp/back"
    fi
    wait "$job"
}

# The daemon has bytes that it would write when told to stop.
wakes_up() {
    local victim=$(($1 - 1)) before status

    before=$(cksum <"$root/f")
    kill -CONT "${daemon_pids[victim]}"
    stop_daemon "$victim"
    status=$?
    daemon_pids[victim]=
    ((status == 4)) || fail "it ended with $status: $(cat "$tmp/$victim.log")"
    grep -q "has gone on without this daemon" "$tmp/$victim.log" ||
        fail "it does not say why: $(cat "$tmp/$victim.log")"
    [[ $(cksum <"$root/f") == "$before" ]] || fail "it has written after all"
}

# The next job uses another daemon as usual.
next() {
    local victim=$(($1 - 1))

    start_daemon "$victim" --root "$root"
    mpi_quiet 3 "$programs/t_replay" "zcache:$root/g" 4 "$tmp" on 128M || fail "$*: the next job"
}

goes_on() {
    lose "$1" bypass "$2" "$3" || fail "$*: $(cat "$tmp/out")"
    grep -q "bypassing a daemon" "$tmp/out" || fail "$*: it is not said: $(cat "$tmp/out")"
    [[ $3 == KILL ]] || wakes_up "$1"
    next "$1"
    stop_daemons || fail "$*: not drained"
    rm -rf -- "$tmp"
}

# The journal's bytes are older than what the job has written without the daemon.
stays_in_the_journal() {
    local before status

    lose 2 bypass true KILL --journal || fail "with a journal: $(cat "$tmp/out")"
    before=$(cksum <"$root/f")
    start_daemon 1 --root "$root" "${lazy[@]}" --journal "$tmp/journal"
    stop_daemon 1
    status=$?
    daemon_pids[1]=
    [[ $(cksum <"$root/f") == "$before" ]] || fail "older bytes are back: $(cat "$tmp/1.log")"
    grep -q "a job has gone on without the daemon" "$tmp/1.log" ||
        fail "it does not say what became of its journal: $(cat "$tmp/1.log")"
    ((status == 4)) || fail "with such a journal it ended with $status"
    stop_daemons || fail "not drained"
    rm -rf -- "$tmp"
}

hears_of_it() {
    lose "$1" error true KILL && fail "$*: it was not told: $(cat "$tmp/out")"
    grep -q "zcached on" "$tmp/out" || fail "$*: it is not named: $(cat "$tmp/out")"
    stop_daemons
    rm -rf -- "$tmp"
}

opens_again() {
    again=yes lose "$1" bypass true KILL || fail "$*: $(cat "$tmp/out")"
    stop_daemons || fail "$*: not drained"
    rm -rf -- "$tmp"
}

opens_again 1
goes_on 1 true KILL
goes_on 2 false KILL
goes_on 2 true STOP
stays_in_the_journal
hears_of_it 2
