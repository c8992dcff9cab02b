#!/usr/bin/env bash
# A daemon is killed in the middle of writes: every rank hears of it in time, by its name.  One that
# is started again between two files is not missed.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"
export ZCACHE_TIMEOUT=10s

# kill_during HOW DAEMONS: the first of them dies when it has been written to (or read from).
kill_during() {
    local how=$1 counter=written_bytes file pid job

    [[ $how != read ]] || counter=read_bytes
    make_root
    file=$root/$(printf 'directory.%.0s' {1..20})/f.7 # longer than what is shown of an error
    mkdir "${file%/*}"
    start_daemons "$2"
    pid=${daemon_pids[0]}
    mpi 3 "$programs/t_fault" "$how" "zcache:$file" 60 "$tmp" "zcached on" "(pid $pid)" /f.7: \
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

# restart_between DAEMONS: the last of them is started again between two files of a job, twice; all
# that is open then is connections.
restart_between() {
    local last=$(($1 - 1)) job

    make_root
    start_daemons "$1"
    mpi 3 "$programs/t_fault" between "zcache:$root/f" 60 "$tmp" >"$tmp/out" 2>&1 </dev/null &
    job=$!
    for step in begun:go again:go.on; do
        wait_for 60 test -e "$tmp/${step%:*}.0" -a -e "$tmp/${step%:*}.1" \
            -a -e "$tmp/${step%:*}.2" ||
            fail "restart, ${step%:*}: $(cat "$tmp/out")"
        stop_daemon "$last" || fail "restart: the daemon did not end well"
        start_daemon "$last" --root "$root"
        touch "$tmp/${step#*:}"
    done
    wait "$job" || fail "restart, $1 daemons: $(cat "$tmp/out")"
    stop_daemons || fail "restart: not drained"
    rm -rf -- "$tmp"
}

restart_between 1
restart_between 2
kill_during write 1
kill_during read 1
kill_during all 1
kill_during write 2
