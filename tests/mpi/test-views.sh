#!/usr/bin/env bash
# Irregular views: every element of 8 bytes belongs to some rank.  Whatever memory an owner has for
# views of others, the bytes are right, and its process grows by the size of its cache and 32 MiB at
# most.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

# views RANKS ELEMENTS TIMES LIMIT-MIB [hint=value ...]
views() {
    echo "$*"
    mpi "$1" "$programs/t_views" "zcache:$root/f" "${@:2}" </dev/null || fail "$*"
    rm -f -- "$root/f"
}

make_root
views 4 700000 2 112 zcache_cache_size=80M
views 16 300000 1 112 zcache_cache_size=80M
views 24 100000 1 112 zcache_cache_size=80M
# memory for none, for one view of four, for all
views 4 50000 4 48 zcache_cache_size=16M zcache_view_memory=0%
views 4 50000 4 48 zcache_cache_size=16M zcache_view_memory=4%
views 4 50000 4 48 zcache_cache_size=16M zcache_view_memory=50%
# owners in all ranks, across the network, and a daemon behind them
start_daemons 1 --cache-size 16M
views 3 50000 4 0 zcache_local=false cb_nodes=3 "cb_config_list=*:*" zcache_block_size=256K
stop_daemons || fail "not drained"
