#!/usr/bin/env bash
# pieces.sh - small interleaved pieces: the cost of sorting them into a file.
#
#     pieces.sh [--quick] [--ranks N] [--repeats N] [--json FILE] [option ...]
#
# collective    64-byte pieces of all ranks in turn, 128 KiB of each rank per call, on tmpfs:
#               zcache: without a daemon beside ROMIO's two-phase I/O
# irregular     a climate model's maps: 8-byte elements dealt out at random, collective, on tmpfs;
#               then a million of them a rank in each of two calls of 4 ranks: an aggregator's
#               default memory has room for one such map (12 bytes a piece), also measured with room
#               for all and, in a cache of 8 MiB, for none; the others send lists of pieces, as all
#               do in the first call
# independent   8-byte pieces, by independent calls, on tmpfs and on slowfs, which has a price
#               for each request: beside ROMIO's data sieving
# ROMIO runs with several settings; the best of them counts for the ratio.
#
#     --phases N     20, of each kind
#     --record SIZE  128K, in each phase and rank; --slow-record SIZE  32K, on slowfs;
#                    --many-record SIZE  8M, of the million pieces
#     --timeout SECONDS  120, for one run
set -u
# shellcheck source=tests/bench/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"
opt+=([ranks]=8 [phases]=20 [record]=128K [slow-record]=32K [many-record]=8M)
quick+=([phases]=8 [slow-record]=8K [many-record]=1M)
bench_options "$@"

collective=(
    'ufs: default hints           | ufs    | |'
    'ufs: romio_cb_write=enable   | ufs    | | romio_cb_write=enable'
    'ufs: two-phase, no sieving   | ufs    | | romio_cb_write=enable romio_ds_write=disable'
    'ufs: sieving, no two-phase   | ufs    | | romio_cb_write=disable romio_ds_write=enable'
    'zcache: embedded             | zcache | |'
)
many=(
    'ufs: default hints           | ufs    | |'
    'ufs: romio_cb_write=enable   | ufs    | | romio_cb_write=enable'
    'ufs: sieving, no two-phase   | ufs    | | romio_cb_write=disable romio_ds_write=enable'
    'zcache: embedded             | zcache | |'
    'zcache: room for all views   | zcache | | zcache_view_memory=50%'
    'zcache: cache of 8 MiB       | zcache | | zcache_cache_size=8M'
)
many_ranks=4 many_phases=2
independent=(
    'ufs: default hints           | ufs    | |'
    'ufs: romio_ds_write=enable   | ufs    | | romio_ds_write=enable'
    'ufs: sieving buffer of 4 MiB | ufs    | | romio_ds_write=enable ind_wr_buffer_size=4194304'
    'zcache: embedded             | zcache | |'
)

# Only where writing each piece by itself does not take an hour.
without_sieving='ufs: romio_ds_write=disable  | ufs    | | romio_ds_write=disable'

bench_start $((opt[ranks] > many_ranks ? opt[ranks] : many_ranks))
bench_memory
bench_slowfs

variants=("${collective[@]}")
bench_turns 'collective, 64 B, tmpfs' "$memory" "$memory" "${opt[ranks]}" \
    --phases "${opt[phases]}" \
    --record "${opt[record]}" --pattern interleaved --piece 64
bench_turns 'irregular, 8 B, tmpfs' "$memory" "$memory" "${opt[ranks]}" \
    --phases "${opt[phases]}" \
    --record "${opt[record]}" --pattern irregular
variants=("${many[@]}")
pieces=$(($(numfmt --from=iec "${opt[many-record]}") / 8))
bench_turns "irregular, 8 B, $(numfmt --to=iec --format=%.0f $pieces) pieces a rank, tmpfs" \
    "$memory" "$memory" $many_ranks --phases $many_phases \
    --record "${opt[many-record]}" --pattern irregular
variants=("$without_sieving" "${independent[@]}")
bench_turns 'independent, 8 B, tmpfs' "$memory" "$memory" "${opt[ranks]}" \
    --phases "${opt[phases]}" \
    --record "${opt[record]}" --pattern interleaved --piece 8 --access independent
variants=("${independent[@]}")
bench_turns 'independent, 8 B, slowfs' "$slow" "$memory/slow" "${opt[ranks]}" \
    --phases "${opt[phases]}" \
    --record "${opt[slow-record]}" --pattern interleaved --piece 8 --access independent
slowfs_unmount "$slow" || bench_problem "slowfs ended with status $?"

work="twice ${opt[phases]} collective calls of ${opt[record]} and as many independent ones; of ${opt[slow-record]} on slowfs; of many pieces $many_phases of ${opt[many-record]}"
bench_results store="tmpfs; slowfs, 200 MB/s, 50 us per request, 200 us round trip" work="$work"
echo "${opt[ranks]} ranks, of many pieces $many_ranks; per rank $work"
echo "layout: $(bench_layout)"
echo "median (lowest-highest) of ${opt[repeats]} repetitions in turn, verified; MB/s"
echo "write: as the slowest rank sees it; elapsed: from open to close, making the data included"
bench_table '|write|of best ufs:|write + close|of best|elapsed|of best|store requests' '
    .cases[] | [.case], (.variants[] | .metrics as $m
        | ["  " + .variant, ($m.write_mb_s | s(1)), (.of_best_ufs.write | n(2)),
           ($m.write_close_mb_s | s(1)), (.of_best_ufs.write_close | n(2)),
           ($m.elapsed_mb_s | s(1)), (.of_best_ufs.elapsed | n(2)),
           if $m.store_requests then
               ($m.store_requests | .median += $m.store_read_requests.median | m(0))
           else "" end])'
bench_end
