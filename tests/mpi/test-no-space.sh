#!/usr/bin/env bash
# A full file system is MPI_ERR_NO_SPACE on every rank, at the write, the sync or the close,
# and not a hang.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

(($(id -u) == 0)) || { echo "skipped: only root can mount a small file system"; exit 77; }
make_root
requires mount -t tmpfs -o size=16m none "$root"
cleanup_fn "umount -l '$root'"

for n in 0 1 2; do
    for words in write write,sync write,strided preallocate; do
        start_daemons "$n"
        # Preallocating is one rank's work; the others hear that it failed.
        text=/big # MPICH shows 239 bytes: the path may be shortened
        [[ $words != preallocate ]] || text=preallocate
        mpi_quiet 2 "$programs/t_open" "zcache:$root/big" "rdwr,create,$words" MPI_ERR_NO_SPACE \
            "$text" || fail "$n daemons: $words"
        rm -f "$root/big"
        # What cannot be written back belongs to a file that is gone: the daemon may end.
        stop_daemons || fail "$n daemons: $words: not drained"
    done
done
