#!/usr/bin/env bash
# Modes of opening and access, embedded and through daemons.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

make_root
for daemons in 0 2; do
    start_daemons "$daemons"
    for ranks in 1 4; do
        mpi_quiet "$ranks" "$programs/t_modes" "zcache:$root/modes" ||
            fail "$daemons daemons, $ranks ranks"
        left=$(ls "$root")
        [[ -z $left ]] || fail "left behind: $left"
    done
    stop_daemons || fail "not drained"
done
