#!/usr/bin/env bash
# syncs.sh - how often a file system is asked to make a file durable, by MPI_File_sync of all ranks.
#
#     syncs.sh [--quick] [--repeats N] [--json FILE] [option ...]
#
# All ranks write a record together and call MPI_File_sync, again and again, on a file system that
# counts (tests/slowfs, which takes no time of its own here): what ROMIO's own driver asks of it,
# zcache without a daemon, and through one. Then every rank reads what another one has written.
# Counts, and the time of a round, which is that of nothing but the calls.
#
#     --ranks N  8    --aggregators N  4    --rounds N  10    --record SIZE  64K
#     --timeout SECONDS  120, for one run
set -u
# shellcheck source=tests/bench/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"
opt+=([ranks]=8 [aggregators]=4 [rounds]=10 [record]=64K)
quick+=([rounds]=5)
bench_options "$@"
small=$build/tests/bench/small
[[ -x $small ]] || bench_skip "this build has no small (make bench-tools)"

bench_start "${opt[ranks]}"
bench_memory
bench_slowfs --write-rate 0 --read-rate 0
start_daemon 0 --root "$slow"

# sample VARIANT TYPE PRELOAD DAEMONS
sample() {
    local name=$slow/data.$RANDOM before after

    before=$(slowfs_count "$slow" sync.requests)
    if SMALL_HINTS="cb_nodes=${opt[aggregators]} cb_config_list=*:*" ZCACHE_DAEMONS=$4 \
        ranks "${opt[ranks]}" "$3" "$small" syncs "$2:$name" "$(numfmt --from=iec "${opt[record]}")" \
        "${opt[rounds]}" >"$tmp/run.json" 2>"$tmp/run.log" &&
        after=$(slowfs_count "$slow" sync.requests) &&
        jq -ec --arg variant "$1" --argjson n "$((after - before))" \
            '{case: "syncs", $variant, metrics: {syncs: $n, round_ms: (.sync_us / 1e3)}}' "$tmp/run.json" \
            >>"$samples" 2>>"$tmp/run.log"; then
        rm -f -- "$name"
        return
    fi
    rm -f -- "$name"
    bench_failed syncs "$1" "no number: $(tail -n 5 "$tmp/run.log")"
}

for ((i = 1; i <= opt[repeats]; i++)); do
    bench_progress "repetition $i"
    sample 'ufs:' ufs '' ''
    sample 'zcache: embedded' zcache "$plugin" ''
    sample 'zcache: 1 daemon' zcache "$plugin" "$tmp/0.addr"
done
bench_progress
stop_daemon 0 || bench_problem "the daemon did not drain: $(tail -n 3 "$tmp/0.log")"
slowfs_unmount "$slow" || bench_problem "slowfs ended with status $?"

bench_results store="slowfs, no limits"
echo "${opt[ranks]} ranks, ${opt[aggregators]} aggregators, ${opt[rounds]} rounds of a collective" \
    "write and MPI_File_sync"
echo "layout: $(bench_layout)"
echo "median (lowest-highest) of ${opt[repeats]} repetitions in turn, every byte compared"
bench_table '|syncs of the file system|ms a round' '
    .cases[].variants[]
    | [.variant, (.metrics.syncs | s(0)), (.metrics.round_ms | s(2))]'
bench_end
