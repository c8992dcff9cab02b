#!/usr/bin/env bash
# costs.sh - what it costs to be safe: that aggregators keep what daemons have not stored
# (zcache_replay=on), and that what moves between both has checksums; beside neither of them.
#
#     costs.sh [--quick] [--ranks N] [--repeats N] [--json FILE] [option ...]
#
# Ranks write a file through their aggregators to a daemon that keeps it on tmpfs, so that no
# store hides anything: in large pieces, which aggregators hand on by RMA, and in small interleaved
# ones.  Variants take turns.
#
#     --phases N     20      --record SIZE  4M, in each phase and rank
#     --piece SIZE   4K, of the small ones
#     --timeout SECONDS  120, for one run
set -u
# shellcheck source=tests/bench/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../bench/functions.sh"
opt+=([ranks]=4 [phases]=20 [record]=4M [piece]=4K)
quick+=([phases]=5)
bench_options "$@"

variants=(
    'neither              | zcache | 0 | zcache_replay=off zcache_checksum=off'
    'kept                 | zcache | 0 | zcache_replay=on zcache_checksum=off'
    'kept, with checksums | zcache | 0 | zcache_replay=on zcache_checksum=on'
)

bench_start "${opt[ranks]}"
bench_memory
start_daemon 0 --root "$memory"
bench_turns "large pieces" "$memory" "$memory" "${opt[ranks]}" --phases "${opt[phases]}" \
    --record "${opt[record]}"
bench_turns "pieces of ${opt[piece]}" "$memory" "$memory" "${opt[ranks]}" \
    --phases "${opt[phases]}" --record "${opt[record]}" --pattern interleaved \
    --piece "${opt[piece]}"
stop_daemon 0 || bench_problem "the daemon did not drain: $(tail -n 3 "$tmp/0.log")"

work="${opt[phases]} collective calls of ${opt[record]} per rank"
bench_results store=tmpfs work="$work"
bench_add '.cases[].variants |= (. as $all
    | map(.of_neither = {write: ratio($all; "neither"; "write_mb_s"),
                         write_close: ratio($all; "neither"; "write_close_mb_s")}))'
echo "${opt[ranks]} ranks, $work, one daemon, tmpfs"
echo "layout: $(bench_layout)"
echo "median (lowest-highest) of ${opt[repeats]} repetitions in turn, verified; MB/s"
bench_table '|write|of neither|write + close|of neither' '
    .cases[] | [.case], (.variants[] | .metrics as $m
        | ["  " + .variant, ($m.write_mb_s | s(0)), (.of_neither.write | n(2)),
           ($m.write_close_mb_s | s(0)), (.of_neither.write_close | n(2))])'
bench_end
