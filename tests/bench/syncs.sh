#!/usr/bin/env bash
# syncs.sh - how often a file system is asked to make a file durable, by MPI_File_sync of all ranks.
#
#     syncs.sh [--quick] [--repeats N] [--json FILE] [option ...]
#
# All ranks write a record together and call MPI_File_sync, again and again, on a file system that
# counts (tests/slowfs): what ROMIO's own driver asks of it, zcache without a daemon, and through
# one.  Then every rank reads what another one has written.  Syncs that come while one is under way
# share the next one, so there are fewer where a sync takes time: measured where it takes none, and
# where it does.  Counts, and the time of a round, of writes and syncs alone.
#
#     --ranks N  8    --aggregators N  4    --rounds N  10    --record SIZE  64K
#     --sync-us N  1000, microseconds of each request, one request after the other
#     --timeout SECONDS  120, for one run
set -u
# shellcheck source=tests/bench/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"
opt+=([ranks]=8 [aggregators]=4 [rounds]=10 [record]=64K [sync-us]=1000)
quick+=([rounds]=5)
bench_options "$@"
small=$build/tests/bench/small
[[ -x $small ]] || bench_skip "this build has no small (make programs)"

bench_start "${opt[ranks]}"
bench_memory

# case_of OP-US: how it is called.
case_of() { if (($1)); then echo "$1 us a sync"; else echo "free syncs"; fi; }

# sample OP-US VARIANT TYPE PRELOAD DAEMONS
sample() {
    local case name=$slow/data.$RANDOM before after

    case=$(case_of "$1")
    before=$(slowfs_count "$slow" sync.requests)
    if SMALL_HINTS="cb_nodes=${opt[aggregators]} cb_config_list=*:*" ZCACHE_DAEMONS=$5 \
        ranks "${opt[ranks]}" "$4" "$small" syncs "$3:$name" "$(numfmt --from=iec "${opt[record]}")" \
        "${opt[rounds]}" >"$tmp/run.json" 2>"$tmp/run.log" &&
        after=$(slowfs_count "$slow" sync.requests) &&
        jq -ec --arg case "$case" --arg variant "$2" --argjson n "$((after - before))" \
            '{$case, $variant, metrics: {syncs: $n, round_ms: (.sync_us / 1e3)}}' "$tmp/run.json" \
            >>"$samples" 2>>"$tmp/run.log"; then
        rm -f -- "$name"
        return
    fi
    rm -f -- "$name"
    bench_failed "$case" "$2" "no number: $(tail -n 5 "$tmp/run.log")"
}

for us in 0 "${opt[sync-us]}"; do
    latency=0
    if ((us)); then latency=200; fi
    bench_slowfs --write-rate 0 --read-rate 0 --op-us "$us" --latency-us "$latency"
    start_daemon 0 --root "$slow"
    for ((i = 1; i <= opt[repeats]; i++)); do
        bench_progress "$(case_of "$us"), repetition $i"
        sample "$us" 'ufs:' ufs '' ''
        sample "$us" 'zcache: embedded' zcache "$plugin" ''
        sample "$us" 'zcache: 1 daemon' zcache "$plugin" "$tmp/0.addr"
    done
    bench_progress
    stop_daemon 0 || bench_problem "the daemon did not drain: $(tail -n 3 "$tmp/0.log")"
    slowfs_unmount "$slow" || bench_problem "slowfs ended with status $?"
done

bench_results store="slowfs, requests of 0 and ${opt[sync-us]} us"
echo "${opt[ranks]} ranks, ${opt[aggregators]} aggregators, ${opt[rounds]} rounds of a collective" \
    "write and MPI_File_sync"
echo "layout: $(bench_layout)"
echo "median (lowest-highest) of ${opt[repeats]} repetitions in turn, every byte compared"
bench_table '|syncs of the file system|ms a round' '
    .cases[] as $c | [$c.case], ($c.variants[]
    | [.variant, (.metrics.syncs | s(0)), (.metrics.round_ms | s(2))])'
bench_end
