#!/usr/bin/env bash
# Jobs of different sizes, one after the other, while what the last one left at level staged
# is still on its way from the daemons to a slow file system.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

requires test -e "$faultshim"
make_root
# Every write takes 100 ms, and they are small: some seconds for the whole file.
export FAULTSHIM_UNDER=$root/f FAULTSHIM_DELAY=100:100000
options=(--page-size 64K --max-io 64K --flushers 1)
for n in 0 1 2; do
    daemon_preload=$faultshim start_daemons "$n" "${options[@]}"
    number=0 waited=0
    for ranks in 3 1 4; do
        ((++number))
        # the block size is the file's: what a later job wishes for changes nothing
        mpi_quiet "$ranks" "$programs/t_jobs" "zcache:$root/f" $number zcache_close_level=staged \
            zcache_block_size=$((number * 128))K || fail "$n daemons, job $number"
        grep -q "^unstored 0$" "$tmp/out" || ((waited++))
    done
    ((n == 0 || waited)) ||
        fail "$n daemons: no job began before the file was written: this shows nothing"
    mpi_quiet 2 "$programs/t_jobs" "zcache:$root/f" 4 || fail "$n daemons, the last job"
    mpi_quiet 1 "$programs/t_jobs" "zcache:$root/f" 0 last=4 || fail "$n daemons, in the end"
    stop_daemons || fail "$n daemons: not drained"
    mpi_quiet 1 "$programs/t_jobs" "zcache:$root/f" 0 last=4 || fail "$n daemons, without them"
    rm -f "$root/f"
done
