#!/usr/bin/env bash
# A daemon that hangs: for too long, and every rank gets an error and keeps its buffer for itself;
# for a short time, and no rank notices.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

begin() { # HOW COUNTER TEXT ...
    local how=$1 counter=$2

    shift 2
    mpi 2 "$programs/t_fault" "$how" "zcache:$root/f" 60 "$tmp" "$@" >"$tmp/out" 2>&1 </dev/null &
    job=$!
    wait_for 60 test -e "$tmp/begun.1" || fail "the program did not begin: $(cat "$tmp/out")"
    wait_for 60 at_least 0 "$counter" 100000000 || fail "no progress: $(cat "$tmp/out")"
}

all_failed() { [[ -e $tmp/failed.0 && -e $tmp/failed.1 ]]; }
answers() { "$zcachectl" --daemons "$tmp/0.addr" --timeout 1s status >/dev/null 2>&1; }
idle() { [[ $(stat_of 0 requests_active) == 1 ]]; } # the question itself

# too_long HOW COUNTER
too_long() {
    export ZCACHE_TIMEOUT=6s
    make_root
    start_daemons 1
    begin "$1" "$2" "zcached on"
    kill -STOP "${daemon_pids[0]}"
    wait_for 60 all_failed || fail "$1: no error: $(cat "$tmp/out")"
    kill -CONT "${daemon_pids[0]}"
    wait_for 60 answers || fail "$1: the daemon does not answer any more"
    wait_for 60 idle || fail "$1: the daemon does not come to rest"
    touch "$tmp/go"
    wait "$job" || fail "$1: $(cat "$tmp/out")"
    stop_daemons || fail "$1: the daemon did not drain"
    rm -rf -- "$tmp"
}

# With a time-out of 10 s a pause that zcachectl sees has no effect; then the job goes on, and its
# daemon is killed to end it.
short() {
    local before

    export ZCACHE_TIMEOUT=10s
    make_root
    start_daemons 1
    begin write written_bytes
    kill -STOP "${daemon_pids[0]}"
    answers && fail "a stopped daemon answers"
    kill -CONT "${daemon_pids[0]}"
    before=$(stat_of 0 written_bytes)
    wait_for 60 at_least 0 written_bytes $((before + 50000000)) ||
        fail "no progress after a pause: $(cat "$tmp/out")"
    if all_failed; then fail "a short pause is an error: $(cat "$tmp/out")"; fi
    stop_daemon 0 KILL
    touch "$tmp/go"
    timeout -k 5 40 tail --pid="$job" -f /dev/null
    daemon_pids=()
    rm -rf -- "$tmp"
}

too_long read read_bytes
too_long write written_bytes
short
