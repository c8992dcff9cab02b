#!/usr/bin/env bash
# A daemon is killed in the middle of writes: every rank hears of it in time, by its name.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"
export ZCACHE_TIMEOUT=3s

# kill_during HOW DAEMONS: the first of them dies when it has been written to (or read from).
kill_during() {
    local how=$1 counter=written_bytes pid job

    [[ $how != read ]] || counter=read_bytes
    make_root
    start_daemons "$2"
    pid=${daemon_pids[0]}
    mpi 3 "$programs/t_fault" "$how" "zcache:$root/f" 10 "$tmp" "zcached on" "(pid $pid)" \
        >"$tmp/out" 2>&1 </dev/null &
    job=$!
    wait_for 60 test -e "$tmp/begun.2" || fail "$how: the program did not begin: $(cat "$tmp/out")"
    wait_for 60 at_least 0 "$counter" 150000000 || fail "$how: no progress: $(cat "$tmp/out")"
    stop_daemon 0 KILL
    touch "$tmp/go"
    wait "$job" || fail "$how, $2 daemons: $(cat "$tmp/out")"
    (($2 == 1)) || stop_daemon 1 KILL
    daemon_pids=()
    rm -rf -- "$tmp"
}

kill_during write 1
kill_during read 1
kill_during all 1
kill_during write 2
