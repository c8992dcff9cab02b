#!/usr/bin/env bash
# What MPI programs write is what plain reads find, for some numbers of ranks and daemons.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

make_root
for n in 0 1 3; do
    start_daemons "$n"
    for ranks in 1 2 4 7; do
        mpi_quiet "$ranks" "$programs/t_posix" "zcache:$root/file" ||
            fail "$n daemons, $ranks ranks"
        [[ ! -e $root/file ]] || fail "$n daemons, $ranks ranks: the file was not deleted"
    done
    stop_daemons || fail "$n daemons: not drained"
done
