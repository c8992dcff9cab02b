#!/usr/bin/env bash
# Memory keeps its bounds, whatever is asked: an aggregator's process grows by zcache_cache_size
# plus 32 MiB at most, a daemon's whole process stays within --cache-size plus 64 MiB.
#
# Both are asked for more than they have room for, over a slow file system: large requests and
# many small ones, irregular views, all credits of many clients in use.  Counted is VmHWM, the
# most that was ever resident: pages, what the cache keeps about them, requests, views,
# buffers, libfabric's memory, code and libraries.
#
#     MEMORY_LOAD="ENDPOINTS CLIENTS ROUNDS"   (default "4 6 1"; make check-long: "16 8 3")
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

read -r -a load <<<"${MEMORY_LOAD:-4 6 1}"
rounds=$((load[2] * 2))
slow=(FAULTSHIM_DELAY=20:1000)

peak_kib() { sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/${daemon_pids[$1]}/status"; }

# below_limit MIB: the daemon that runs has filled a cache of so many, and kept its bound.
below_limit() {
    local peak

    peak=$(peak_kib 0)
    echo "daemon: cache of $1 MiB, peak $((peak / 1024)) MiB of $(($1 + 64)) allowed"
    ((peak > $1 * 1024)) || fail "the load was too light to fill a cache of $1 MiB"
    ((peak <= ($1 + 64) * 1024)) || fail "the daemon took $peak KiB"
}

# of_daemon MIB PAGE-SIZE
of_daemon() {
    env_daemon --cache-size "$1M" --page-size "$2"
    timeout -k 5 500 "$build/tests/daemon/zcload" "$tmp/0.addr" "$root" "${load[@]}" >"$tmp/out" \
        2>&1 ||
        fail "$(cat "$tmp/out" "$tmp/0.log")"
    below_limit "$1"
    stop_daemons || fail "not drained"
    rm -f -- "$root"/load.*
}

env_daemon() {
    export FAULTSHIM_UNDER=$root "${slow[@]}"
    daemon_preload=$faultshim start_daemons 1 "$@"
}

# of_ranks DAEMONS RANKS MIB [hint=value ...]
of_ranks() {
    local daemons=$1 ranks=$2 mib=$3

    shift 3
    ((daemons == 0)) || env_daemon --cache-size 32M
    echo "$daemons daemons, $ranks ranks, $*"
    mpi "$ranks" "$programs/t_memory" "zcache:$root/f" "$mib" $((mib + 32)) "$rounds" \
        "zcache_cache_size=${mib}M" "$@" </dev/null || fail "an aggregator with $daemons daemons"
    ((daemons == 0)) || below_limit 32
    stop_daemons || fail "not drained"
    rm -f -- "$root/f"
}

requires test -e "$faultshim"
make_root
of_daemon 16 64K
of_daemon 32 1M
of_ranks 0 4 16
of_ranks 1 4 16
of_ranks 1 3 16 zcache_block_size=64K cb_nodes=3 "cb_config_list=*:*"
