#!/usr/bin/env bash
# MPI_Request_get_status alone sees nonblocking accesses complete.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"
needs_plugin "a status that makes progress"

make_root
for daemons in 0 1; do
    start_daemons "$daemons"
    for ranks in 1 3; do
        mpi_quiet "$ranks" "$programs/t_get_status" "zcache:$root/status" ||
            fail "$daemons daemons, $ranks ranks"
    done
    stop_daemons || fail "not drained"
done
