#!/usr/bin/env bash
# A file that is still open, and still written to, while MPI_Finalize is under way is served to its
# end; one that is never closed hangs nothing.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

make_root
for n in 0 1; do
    start_daemons "$n"
    mpi_quiet 3 "$programs/t_finalize" "$ufs$root/ufs" || fail "ufs, three ranks"
    mpi_quiet 3 "$programs/t_finalize" "zcache:$root/zcache" || fail "zcache, $n daemons"
    cmp "$root/ufs" "$root/zcache" || fail "zcache, $n daemons: not what was written"
    mpi_quiet 4 "$programs/t_finalize" "$ufs$root/as_ufs" || fail "ufs, four ranks"
    mpi_quiet 3 "$programs/t_finalize" "zcache:$root/open" never || fail "never closed, $n daemons"
    mpi_quiet 4 "$programs/t_finalize" "zcache:$root/apart" apart || fail "apart, $n daemons"
    cmp "$root/as_ufs" "$root/apart" || fail "apart, $n daemons: not what was written"
    for _ in 1 2 3; do
        mpi_quiet 4 "$programs/t_finalize" "zcache:$root/open" unused || fail "unused, $n daemons"
    done
    stop_daemons || fail "$n daemons: not drained"
    rm -f "$root"/*
done
