#!/usr/bin/env bash
# Jobs of different sizes, one after the other, while what the last one left at level staged
# is still on its way from the daemons to the file system.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

# job RANKS NUMBER [HINT]: the block size is the file's: what a later job wishes for changes
# nothing.
job() {
    mpi_quiet "$1" "$programs/t_jobs" "zcache:$root/f" "$2" zcache_block_size=$(($2 * 128))K \
        "${@:3}" || fail "$n daemons, job $2"
}
look() { mpi_quiet 1 "$programs/t_jobs" "zcache:$root/f" 0 last=4 || fail "$n daemons, $1"; }

requires test -e "$faultshim"
make_root
# Writes of a daemon wait while $tmp/hold exists; after that they are slow.
export FAULTSHIM_UNDER=$root/f FAULTSHIM_HOLD=$tmp/hold FAULTSHIM_DELAY=100:10000
for n in 0 1 2; do
    daemon_preload=$faultshim start_daemons "$n" --page-size 64K --max-io 64K
    touch "$tmp/hold"
    job 3 1 zcache_close_level=staged
    job 1 2 zcache_close_level=staged
    ! grep -q "^unstored 0$" "$tmp/out" ||
        ((n == 0)) || fail "$n daemons: the first job's data was not waiting: this shows nothing"
    rm "$tmp/hold"
    job 4 3 zcache_close_level=staged
    job 2 4
    look "in the end"
    stop_daemons || fail "$n daemons: not drained"
    look "without them"
    rm -f "$root/f"
done
