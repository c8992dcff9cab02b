#!/usr/bin/env bash
# Hints that are unknown or wrong are said once, by rank 0, and change nothing.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

# said_once HINT PATTERN
said_once() {
    local n

    mpi 3 "$programs/t_model" --ops 1 --no-subsets --hints "$1" "zcache:$root/h" \
        >"$tmp/out" 2>&1 </dev/null || fail "$1: $(cat "$tmp/out")"
    n=$(grep -c -- "$2" "$tmp/out")
    # Opened once or twice, by one rank 0 each time.
    ((n >= 1 && n <= 2)) || fail "$1: said $n times: $(cat "$tmp/out")"
}

make_root
for n in 0 1; do
    start_daemons "$n"
    said_once zcache_blok_size=1M "zcache_blok_size.*did you mean zcache_block_size"
    said_once zcache_nonsense=7 "unknown hint zcache_nonsense=7"
    said_once zcache_block_size=12345 "zcache_block_size ignored.*12345.*power of two"
    said_once zcache_sync_level=soon "zcache_sync_level ignored.*soon"
    said_once zcache_flush=now "zcache_flush ignored.*now.*start or wait"
    said_once zcache_flush=start "zcache_flush ignored.*MPI_File_set_info"
    mpi_quiet 2 "$programs/t_model" --ops 5 --hints zcache_sync_level=stored "zcache:$root/h" ||
        fail "a good hint"
    ! grep -q hint "$tmp/out" || fail "a good hint is complained about: $(cat "$tmp/out")"
    stop_daemons || fail "not drained"
done
