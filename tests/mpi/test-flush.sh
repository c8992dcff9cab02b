#!/usr/bin/env bash
# zcache_flush starts and awaits write-back, MPI_File_get_info counts what is left of it, and
# what fails is said by the call that waits, on every rank.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

run() { mpi_quiet 3 "$programs/t_flush" "zcache:$root/f" "$@" || fail "$n daemons: $*"; }
who=(daemon daemon both) # by number of daemons
hints=(zcache_block_size=64K cb_nodes=3 "cb_config_list=*:3")
# Nothing is written back before it must be.
lazy=(--page-size 64K --idle-time 0 --high-watermark 100% --low-watermark 99%)

make_root
for n in 0 1 2; do
    start_daemons "$n" "${lazy[@]}"
    run counts "${hints[@]}" zcache_write_back=daemon zcache_sync_level=staged
    run start "${hints[@]}" "zcache_write_back=${who[n]}"
    stop_daemons || fail "$n daemons: not drained"
done

(($(id -u) == 0)) || {
    echo "skipped: a full file system: only root can mount a small one"
    exit 0
}
requires mount -t tmpfs -o size=16m none "$root"
cleanup_fn "umount -l '$root'"
for n in 0 1 2; do
    start_daemons "$n"
    run error
    rm -f "$root/f"
    stop_daemons || fail "$n daemons: not drained"
done
