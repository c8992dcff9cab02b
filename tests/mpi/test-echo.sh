#!/usr/bin/env bash
# MPI_File_get_info returns the hints in force: for each hint of the option table, with several
# files and ranks that ask for different values; a hint without effect is logged once, by rank 0.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

make_root
bad=0
for daemons in 0 1; do
    start_daemons "$daemons"
    names=$("$programs/t_echo" --names) || fail "a hint of the table is not tested"
    while read -r name number times; do
        mpi 3 "$programs/t_echo" "zcache:$root/$name$number" "$name" "$number" \
            >"$tmp/out" 2>&1 </dev/null
        status=$?
        said=$(grep -c "hint.*zcache_$name" "$tmp/out")
        ((status == 0 && said == times)) || {
            echo "$daemons daemons, $name, case $number: status $status, said $said times:"
            cat "$tmp/out"
            bad=1
        }
    done <<<"$names"
    stop_daemons || fail "not drained"
done
((bad == 0)) || fail "see above"

# of_case RANKS CASE
of_case() {
    mpi "$1" "$programs/t_echo_cases" "zcache:$root/$2" "$2" >"$tmp/out" 2>&1 </dev/null ||
        fail "$2: $(cat "$tmp/out")"
}

# said PATTERN TIMES
said() {
    (($(grep -c -- "$1" "$tmp/out") == $2)) || fail "not said $2 times, $1: $(cat "$tmp/out")"
}

of_case 1 shares
of_case 3 owners
said "has no effect" 0 # a wish for less than there is, of one aggregator
of_case 3 set_info
of_case 3 joined
export ZCACHE_STAT=1 # unknown
of_case 3 once
unset ZCACHE_STAT
said "zcache_nonsense" 1
said "hint zcache_sync_level ignored.*soon" 1
said "hint zcache_block_size ignored" 1
said "zcache_timeout" 0
said "zcache_flush ignored" 1
said "ZCACHE_STAT " 1

# Rank 0's daemons are used by all ranks, or none are.
start_daemons 1
list=$ZCACHE_DAEMONS
unset ZCACHE_DAEMONS
mpi 1 "$programs/t_echo_cases" "zcache:$root/d" daemons : -n 2 env ZCACHE_DAEMONS="$list" \
    "$programs/t_echo_cases" "zcache:$root/d" daemons >"$tmp/out" 2>&1 </dev/null ||
    fail "daemons of ranks 1 and 2: $(cat "$tmp/out")"
said "daemons: -1" 1
mpi 1 env ZCACHE_DAEMONS="$list" "$programs/t_echo_cases" "zcache:$root/d" daemons : \
    -n 2 "$programs/t_echo_cases" "zcache:$root/d" daemons >"$tmp/out" 2>&1 </dev/null ||
    fail "daemons of rank 0: $(cat "$tmp/out")"
said "daemons: 1" 1

# A block is at least a daemon's page.
export ZCACHE_DAEMONS=$list
of_case 3 failed
said "hint zcache_timeout=50s has no effect, 40s is in force" 1
of_case 3 joined # also what there is none of without daemons
mpi 2 "$programs/t_hints" "zcache:$root/b" zcache_block_size=64K -- zcache_block_size=1M \
    >"$tmp/out" 2>&1 </dev/null || fail "blocks: $(cat "$tmp/out")"
said "hint zcache_block_size=64K has no effect, 1M is in force: the page size of the daemons" 1
stop_daemons || fail "not drained"

# too_little FILE: whether the memory did not allow the size, as FILE has it.
too_little() { grep "cache size .* a part of" "$1"; }

# An owner of many ranks has a cache for all of them, where an eighth of the memory is enough.
for case in 12:1:192M 12:2:128M; do
    IFS=: read -r n owners size <<<"$case"
    mpi "$n" "$programs/t_hints" "zcache:$root/c$owners" "cb_config_list=*:$owners" \
        "cb_nodes=$owners" -- "zcache_cache_size=$size" >"$tmp/out" 2>&1 </dev/null ||
        too_little "$tmp/out" || fail "$n ranks, $owners owners: $(cat "$tmp/out")"
done
too_little "$tmp/out" || of_case 12 grows

# Invalid watermarks, and unusual valid ones.
mpi 2 "$programs/t_hints" "zcache:$root/w" zcache_high_watermark=20% zcache_low_watermark=30% -- \
    zcache_high_watermark=50% zcache_low_watermark=10% >"$tmp/out" 2>&1 </dev/null ||
    fail "watermarks: $(cat "$tmp/out")"
said "zcache_high_watermark=20% and zcache_low_watermark=30% ignored.*below" 1
mpi 2 "$programs/t_hints" "zcache:$root/w" zcache_write_back=none zcache_high_watermark=60% -- \
    zcache_high_watermark=100% zcache_idle_time=0ms >"$tmp/out" 2>&1 </dev/null ||
    fail "watermarks without write-back: $(cat "$tmp/out")"
said "hint zcache_high_watermark=60% has no effect, 100% is in force: with this zcache_write" 1
