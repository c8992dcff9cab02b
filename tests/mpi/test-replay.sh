#!/usr/bin/env bash
# Daemons are killed while a job writes, and started again: it ends with success, every byte right.
# They write nothing to the file by themselves, so that each death takes all they have.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"
export ZCACHE_TIMEOUT=60s

lazy=(--idle-time 0 --high-watermark 90% --low-watermark 80%)

# goes_on DAEMONS REPLAY CACHE LOCAL: daemons die in turn.
goes_on() {
    local daemons=$1 turns=16 victim job

    make_root
    start_daemons "$daemons" "${lazy[@]}"
    ZCACHE_LOCAL=$4 mpi 3 "$programs/t_replay" "zcache:$root/f" "$turns" "$tmp" "$2" "$3" \
        >"$tmp/out" 2>&1 </dev/null &
    job=$!
    for turn in 3 7 12; do
        wait_for 60 test -e "$tmp/turn.$turn" || fail "$*: turn $turn: $(cat "$tmp/out")"
        victim=$((turn % daemons))
        stop_daemon "$victim" KILL
        start_daemon "$victim" --root "$root" "${lazy[@]}"
    done
    wait "$job" || fail "$*: $(cat "$tmp/out")"
    stop_daemons || fail "$*: not drained"
    rm -rf -- "$tmp"
}

goes_on 1 on 128M true
goes_on 2 on 128M false
goes_on 2 strict 16M true
