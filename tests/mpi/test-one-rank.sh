#!/usr/bin/env bash
# Collective calls in which one rank's argument is wrong return on all ranks, with an error.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

make_root
for daemons in 0 1; do
    start_daemons "$daemons"
    for ranks in 2 5; do
        mpi_quiet "$ranks" "$programs/t_one_rank" "zcache:$root/one" ${plugin:+plugin} ||
            fail "$daemons daemons, $ranks ranks"
    done
    stop_daemons || fail "not drained"
done
