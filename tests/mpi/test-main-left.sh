#!/usr/bin/env bash
# Ranks whose main thread has left by pthread_exit() after the open go on; ufs: is the reference.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

make_root
mpi_quiet 3 "$programs/t_main_left" "$ufs$root/f" -1 || {
    echo "skipped: this MPI library needs a program's main thread"
    exit 77
}
for daemons in 0 1; do
    start_daemons "$daemons"
    for which in 0 1 2 -1; do
        rm -f "$root/f"
        mpi_quiet 3 "$programs/t_main_left" "zcache:$root/f" "$which" cb_nodes=1 ||
            fail "rank $which, $daemons daemons"
        ! grep -q zcache: "$tmp/out" || fail "rank $which, $daemons daemons: $(cat "$tmp/out")"
    done
    stop_daemons || fail "not drained"
done
