#!/usr/bin/env bash
# ranks.sh - what one collective write costs as ranks are added.
#
#     ranks.sh [--quick] [--ranks "2 4 ..."] [--repeats N] [--json FILE] [option ...]
#
# Every rank gives the same number of bytes to each collective write, in interleaved pieces,
# on tmpfs.  Two tables: the time of one access as the slowest rank sees it (the median of a
# run; a barrier before each keeps what ranks wait for each other out of it), and all the time
# from open to close, divided by the accesses: it has the barrier and the making of data in
# it, but also what ranks do while others do not get a core.
#
#     --ranks LIST   2 4 8 16 32
#     --record SIZE  32K, of each rank    --piece SIZE  4K    --phases N  20, accesses in a run
#     --timeout SECONDS  120, for one run
set -u
# shellcheck source=tests/bench/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"
opt+=([ranks]='2 4 8 16 32' [phases]=20 [record]=32K [piece]=4K)
quick+=([phases]=10)
bench_options "$@"
read -ra counts <<<"${opt[ranks]}"
most=0
for n in "${counts[@]}"; do
    if ((n > most)); then most=$n; fi
done

variants=(
    'ufs: default hints          | ufs    | |'
    'ufs: romio_cb_write=enable  | ufs    | | romio_cb_write=enable'
    'zcache: embedded            | zcache | |'
)

bench_start "$most" # one layout for the whole curve
bench_memory
for n in "${counts[@]}"; do
    bench_turns "$n" "$memory" "$memory" "$n" --phases "${opt[phases]}" --record "${opt[record]}" \
        --pattern interleaved --piece "${opt[piece]}"
done

work="${opt[phases]} collective writes of ${opt[record]} per rank, pieces of ${opt[piece]}"
bench_results store=tmpfs work="$work"
echo "$work, on tmpfs"
echo "layout: $(bench_layout)"
heading="ranks$(printf '|%s' "${variants[@]%%|*}" | sed 's/ *|/|/g; s/ *$//')"
echo "milliseconds, median (lowest-highest) of ${opt[repeats]} repetitions in turn, verified"
echo "one access, as the slowest rank sees it"
bench_table "$heading" '.cases[] | [.case] + [.variants[] | .metrics.access_ms | s(2)]'
echo "elapsed, for each access"
bench_table "$heading" '.cases[] | [.case] + [.variants[] | .metrics.elapsed_ms | s(2)]'
bench_end
