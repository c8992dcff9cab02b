#!/usr/bin/env bash
# A set_size that fails in the first cache changes nothing; in another one: the file has the new
# size, for all ranks, and the error says so on every rank.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

export ZCACHE_TIMEOUT=4s
full=$((8 * 65536)) cut=100000

# sized BYTES WHAT
sized() {
    local now

    now=$(stat -c %s "$root/f")
    [[ $now == "$1" ]] || fail "$2: the file has $now bytes, not $1"
}

# resize FAILING-RANK same|cut BYTES WHAT [DAEMON]: with three ranks, of which 0 and 1 are
# aggregators, and one has a file system that cannot set sizes.
resize() {
    local run='[ "${PMI_RANK-$OMPI_COMM_WORLD_RANK}" != "$0" ] || export FAULTSHIM_CUT=/ $slow; exec "$@"'

    rm -f "$root/f"
    preload=$faultshim:$plain FAULTSHIM_UNDER=$root mpi_quiet 3 sh -c "$run" "$1" \
        "$programs/t_resize" "zcache:$root/f" "$2" ${5:+"$5"} || fail "$4"
    sized "$3" "$4"
}

# One of two daemons fails while $tmp/cut.N exists; the second one writes slowly, and at once.
two_daemons() {
    for i in 0 1; do
        daemon_preload=$faultshim FAULTSHIM_UNDER=$root FAULTSHIM_CUT=$tmp/cut.$i \
            FAULTSHIM_DELAY=$((100 * i)):100000 start_daemon "$i" --root "$root" \
            --page-size 64K --cache-size 1M --high-watermark 2% --low-watermark 1%
    done
    export ZCACHE_DAEMONS=$tmp/0.addr,$tmp/1.addr
}

make_root
plain=$preload
resize 0 same "$full" "no daemons, the first owner fails"
resize 1 cut "$cut" "no daemons, the second owner fails"

# Also its write under way beyond the new size, which arrives after the first one has truncated.
printf 'zcache_%s\n' "cache_size 1M" "high_watermark 2%" "low_watermark 1%" >"$tmp/hints"
export ROMIO_HINTS=$tmp/hints
slow=FAULTSHIM_DELAY=100:100000 \
    resize 1 cut "$cut" "no daemons, the second owner fails and writes back"

two_daemons
touch "$tmp/cut.0"
resize none same "$full" "the first daemon fails"
rm "$tmp/cut.0"
touch "$tmp/cut.1"
resize none cut "$cut" "the second daemon fails"
rm "$tmp/cut.1"
resize none same "$full" "a daemon is killed" "${daemon_pids[1]}"
stop_daemon 1 KILL
unset 'daemon_pids[1]'
stop_daemons || fail "not drained"
