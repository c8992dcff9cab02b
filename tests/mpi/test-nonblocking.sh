#!/usr/bin/env bash
# Nonblocking and split collective accesses: hundreds under way, none waits in MPI_Test, a
# daemon that stands still or dies under them.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

make_root
for daemons in 0 1; do
    start_daemons "$daemons"
    for ranks in 1 3; do
        mpi_quiet "$ranks" "$programs/t_nonblocking" "zcache:$root/nb" ||
            fail "$daemons daemons, $ranks ranks"
    done
    stop_daemons || fail "not drained"
done

export ZCACHE_TIMEOUT=5s
start_daemons 1
mpi_quiet 1 "$programs/t_nonblocking" "zcache:$root/still" "${daemon_pids[0]}" ||
    fail "a daemon that stands still"
stop_daemon 0 KILL
daemon_pids=()
