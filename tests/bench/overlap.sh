#!/usr/bin/env bash
# overlap.sh - what computing hides of writing to a slow shared store.
#
#     overlap.sh [--quick] [--ranks N] [--repeats N] [--json FILE] [option ...]
#
# Ranks compute and write in turn, collectively, their pieces interleaved in one file on
# slowfs.  Without write-behind the job takes compute time + I/O time; the best it can do
# is the longer of the two: max(compute time, bytes / bandwidth of the store).  Since a phase
# computes before it writes, the first one's computing hides nothing and nothing hides the last
# one's bytes, which matters where these are many: that best total is printed, too.  Printed for
# ROMIO and zcache: write bandwidth as the application sees it, with and without the close,
# total time from open to close, and that as a ratio to the best possible ones.
#
#     --phases N          20           --compute SECONDS   0.1, in each phase
#     --record SIZE       1M           --piece SIZE        4K
#     --cache-size SIZE   of zcache's ranks (the default hint); less than they write in a phase:
#                         bursts, which only a daemon can hold
#     --compute-by HOW    spin, or sleep where there are more ranks than cores
#     --write-rate RATE   200M         --op-us N  50       --latency-us N  200
#     --timeout SECONDS   120, for one run
set -u
# shellcheck source=tests/bench/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"
opt+=([ranks]=8 [phases]=20 [record]=1M [piece]=4K [compute]=0.1 [compute-by]=
    [cache-size]= [write-rate]=200M [op-us]=50 [latency-us]=200)
quick+=([phases]=10)
kinds[cache-size]=size
bench_options "$@"
: "${opt[compute-by]:=$(bench_compute_by "${opt[ranks]}")}"
own=${opt[cache-size]:+zcache_cache_size=${opt[cache-size]}}

variants=(
    'ufs: default hints          | ufs    |   |'
    'ufs: romio_cb_write=enable  | ufs    |   | romio_cb_write=enable'
    "zcache: embedded            | zcache |   | $own"
    "zcache: one daemon          | zcache | 0 | $own"
)

bench_start "${opt[ranks]}"
bench_memory
bench_slowfs --write-rate "${opt[write-rate]}" --op-us "${opt[op-us]}" \
    --latency-us "${opt[latency-us]}"
start_daemon 0 --root "$slow"
bench_turns slowfs "$slow" "$memory/slow" "${opt[ranks]}" --phases "${opt[phases]}" \
    --record "${opt[record]}" --pattern interleaved --piece "${opt[piece]}" \
    --compute "${opt[compute]}" --compute-by "${opt[compute-by]}"
stop_daemon 0 || bench_problem "the daemon did not drain: $(tail -n 3 "$tmp/0.log")"
slowfs_unmount "$slow" || bench_problem "slowfs ended with status $?"

store="slowfs, ${opt[write-rate]} bytes/s, ${opt[op-us]} us per request, ${opt[latency-us]} us round trip"
work="${opt[phases]} phases of ${opt[compute]} s (${opt[compute-by]}) and ${opt[record]} per rank, pieces of ${opt[piece]}, collective"
bench_results store="$store" work="$work"
echo "${opt[ranks]} ranks, $work"
echo "store: $store"
echo "layout: $(bench_layout)"
echo "median (lowest-highest) of ${opt[repeats]} repetitions in turn, verified; MB/s, seconds"
jq -r '[.cases[].variants[] | select(.metrics.ideal_s)][0]
    | .metrics | map_values(.median * 1000 | round / 1000)
    | "best possible total: max(compute, bytes / bandwidth) = \(.ideal_s) s, \(.ideal_ends_s) s with the ends"' <<<"$results"
columns='|write|write + close|total|of it: open|compute|wait|total / best possible|with the ends'
bench_table "$columns|store requests|store busy" '
    .cases[].variants[] | .metrics as $m
        | [.variant, ($m.write_mb_s | s(0)), ($m.write_close_mb_s | s(0)),
        ($m.total_s | s(2)), ($m.open_s | m(2)), ($m.compute_s | m(2)),
        ($m.wait_s | m(2)), ($m.total_of_ideal | m(2)), ($m.total_of_ideal_ends | m(2)),
        ($m.store_requests | m(0)), ($m.store_busy_s | m(2))]'
bench_end
