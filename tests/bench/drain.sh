#!/usr/bin/env bash
# drain.sh - how fast a daemon writes back what it has cached, beside what fio writes.
#
#     drain.sh [--quick] [--repeats N] [--json FILE] [option ...]
#
# A daemon in front of slowfs takes a file into its cache and, told to by zcachectl flush, writes it
# back; that is timed, zcachectl's start and end included. fio writes as many bytes to the same
# store by plain calls, in several ways, the best of which counts for the ratio. All take turns;
# medians and spread. A file counts when nothing of it was in the store before the flush and,
# compared behind the daemon's back, all of it is afterwards.
#
#     --fill SIZE         256M, of the file, a multiple of 8M
#     --write-rate RATE   200M         --op-us N  50       --latency-us N  200
#     --timeout SECONDS   120, for one run
set -u
# shellcheck source=tests/bench/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"
opt+=([fill]=256M [write-rate]=200M [op-us]=50 [latency-us]=200)
quick+=([fill]=64M)
bench_options "$@"
zcread=$build/tests/bench/zcread
command -v fio >/dev/null || bench_skip "no fio (Debian: fio)"
[[ -x $zcread ]] || bench_skip "this build has no zcread (make programs)"

bench_begin # no ranks: no layout
bench_memory
bench_slowfs --write-rate "${opt[write-rate]}" --op-us "${opt[op-us]}" \
    --latency-us "${opt[latency-us]}"
bytes=$(numfmt --from=iec "${opt[fill]}")
limit=(timeout -k 5 "${opt[timeout]}")

# The cache holds two such files; the watermarks and the idle time leave all of one in it.
start_daemon 0 --root "$slow" --cache-size $((2 * bytes)) --high-watermark 95% \
    --low-watermark 94% --idle-time 10m
start_daemon 1 --root "$memory" # compares; what it has read is dropped each time

# measure VARIANT COMMAND ...: a sample of the MB/s that the command prints, or one that failed.
measure() {
    local mb

    if mb=$("${@:2}" 2>"$tmp/run.log"); then
        jq -nc --arg variant "$1" --argjson mb "$mb" \
            '{case: "drain", $variant, metrics: {mb_s: $mb}}' >>"$samples"
    else
        bench_failed drain "$1" "no number: $(tail -n 5 "$tmp/run.log")"
    fi
    rm -f -- "$slow"/data.*
}

# written WRITERS SIZE: by fio, each writer its own part of one new file, SIZE bytes a call.
written() {
    "${limit[@]}" fio --name=drain --filename="$slow/data.fio" --rw=write --ioengine=psync \
        --fallocate=none --numjobs="$1" --bs="$2" --size=$((bytes / $1)) \
        --offset_increment=$((bytes / $1)) --group_reporting --output-format=json \
        --output="$tmp/fio.json" >&2 &&
        jq -e --argjson bytes "$bytes" \
            '.jobs[0].write | select(.io_bytes == $bytes) | $bytes / .runtime / 1e3' "$tmp/fio.json"
}

# drained: what zcread has written stays in the cache while the file is open, see zc_cache_close().
drained() {
    local name=data.$RANDOM client status

    rm -f "$tmp/over" "$tmp/client.out"
    "${limit[@]}" "$zcread" --local --fill "$bytes" --idle "$tmp/over" "$tmp/0.addr" \
        "$slow/$name" >"$tmp/client.out" &
    client=$!
    wait_for "${opt[timeout]}" filled_or_gone "$client"
    flushed
    status=$?
    : >"$tmp/over"
    wait "$client" && ((status == 0)) || return 1
    "${limit[@]}" "$zcread" --local --size 1M --count $((bytes >> 20)) "$tmp/1.addr" \
        "$memory/slow/$name" >&2 &&
        "$zcachectl" --daemons "$tmp/1.addr" evict >&2 && cat "$tmp/mb_s"
}

filled_or_gone() { grep -qs '^idle$' "$tmp/client.out" || gone "$1"; }

flushed() {
    local before began now

    before=$(slowfs_count "$slow" write.bytes) began=$EPOCHREALTIME
    "$zcachectl" --daemons "$tmp/0.addr" --timeout "${opt[timeout]}s" flush >&2 || return
    now=$EPOCHREALTIME
    before=$(($(slowfs_count "$slow" write.bytes) - before))
    ((before == bytes)) || { echo "the flush wrote $before bytes of $bytes" >&2; return 1; }
    awk -v bytes="$bytes" -v from="$began" -v to="$now" \
        'BEGIN { printf "%.3f\n", bytes / 1e6 / (to - from) }' >"$tmp/mb_s"
}

for ((i = 1; i <= opt[repeats]; i++)); do
    bench_progress "repetition $i"
    measure 'fio: 1 writer, 1M' written 1 1M
    measure 'fio: 4 writers, 1M' written 4 1M
    measure 'fio: 8 writers, 1M' written 8 1M
    measure 'fio: 2 writers, 4M' written 2 4M
    measure 'zcache: flush' drained
done
bench_progress
for i in 0 1; do
    stop_daemon "$i" || bench_problem "daemon $i did not drain: $(tail -n 3 "$tmp/$i.log")"
done
slowfs_unmount "$slow" || bench_problem "slowfs ended with status $?"

store="slowfs, ${opt[write-rate]} bytes/s, ${opt[op-us]} us per request, ${opt[latency-us]} us round trip"
bench_results store="$store"
# A ratio to the best of fio's ways says something only when each of them gave a number.
bench_add '.cases[].variants |= (
    (map(select(.variant | startswith("fio:")) | .metrics.mb_s.median)
        | if all(.[]; .) then max else null end) as $best
    | map(.of_best_fio =
        if $best and .metrics.mb_s then .metrics.mb_s.median / $best else null end))'
echo "${opt[fill]} of one file, $cores cores"
echo "store: $store"
echo "median (lowest-highest) of ${opt[repeats]} repetitions in turn, compared"
bench_table '|MB/s|of best fio' '.cases[].variants[]
    | [.variant, (.metrics.mb_s | s(1)), (.of_best_fio | n(3))]'
bench_end
