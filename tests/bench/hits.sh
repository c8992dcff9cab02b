#!/usr/bin/env bash
# hits.sh - reads of what a daemon has cached: beside fi_pingpong, and beside misses.
#
#     hits.sh [--quick] [--repeats N] [--provider P] [--json FILE]
#
# A client of a daemon on this host reads 4 KiB and 4 MiB at a time of a file that is cached,
# and fi_pingpong exchanges messages of these sizes with the same provider.  Printed: the round
# trip of a small read over that of fi_pingpong, and the bandwidth of large reads over its, which
# is that of one way: a round trip of large messages moves twice what a read does.
#
# Then 1 MiB reads of cached data alone, and while another client reads from a slow store a
# file that is larger than the cache, as fast as it can.  Printed: the bandwidth of the hits
# beside the misses over that alone; a run counts only when the store was kept busy.
#
# All take turns, every byte read is compared; medians and spread.
#
#     --small N     20000 reads or messages of 4 KiB    --large N   1000 of 4 MiB
#     --hits N      2000 reads of 1 MiB    --read-rate RATE   200M, of the slow store
#     --timeout SECONDS  120, for one run
set -u
# shellcheck source=tests/bench/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"
opt+=([provider]='tcp;ofi_rxm' [small]=$small_messages [large]=$large_messages [hits]=2000
    [read-rate]=200M)
quick+=([hits]=500)
bench_options "$@"
zcread=$build/tests/bench/zcread
command -v fi_pingpong >/dev/null || bench_skip "no fi_pingpong (Debian: libfabric-bin)"
[[ -x $zcread ]] || bench_skip "this build has no zcread (make programs)"

bench_begin
bench_memory
bench_slowfs --read-rate "${opt[read-rate]}" --write-rate 0
start_daemon 0 --root "$memory" --provider "${opt[provider]}" --idle-time 10m
start_daemon 1 --root "$slow" --provider "${opt[provider]}" --cache-size 256M

# reads DAEMON FILE OPTION ...: the same of reads through a daemon.
reads() { timeout -k 5 "${opt[timeout]}" "$zcread" "${@:3}" "$tmp/$1.addr" "$2"; }

# measure CASE VARIANT COMMAND ...: a sample of what the command prints, or one that failed.
measure() {
    local us mb out

    if out=$("${@:3}" 2>"$tmp/run.log") && read -r us mb _ <<<"$out" && [[ -n ${mb:-} ]]; then
        jq -nc --arg case "$1" --arg variant "$2" --argjson us "$us" --argjson mb_s "$mb" \
            '{$case, $variant, metrics: {$us, $mb_s}}' >>"$samples"
    else
        bench_failed "$1" "$2" "no number: $(tail -n 5 "$tmp/run.log")"
    fi
}

# Hits while another client misses; the misses must have kept the store at half its rate or more.
beside_misses() {
    local before after began now out status flow=true

    rm -f "$tmp/enough"
    before=$(slowfs_count "$slow" read.bytes) began=$EPOCHREALTIME
    reads 1 "$slow/misses" --size 1M --until "$tmp/enough" >"$tmp/misses.out" 2>&1 &
    misser=$!
    wait_for 10 misses_flow "$before" || flow=
    out=$(reads 1 "$slow/hits" --size 1M --count "${opt[hits]}")
    status=$?
    after=$(slowfs_count "$slow" read.bytes) now=$EPOCHREALTIME
    : >"$tmp/enough"
    wait "$misser" || { echo "misses: $(<"$tmp/misses.out")" >&2; return 1; }
    [[ -n $flow ]] || { echo "the misses did not begin" >&2; return 1; }
    ((status == 0)) || return 1
    awk -v bytes=$((after - before)) -v from="$began" -v to="$now" -v rate="${opt[read-rate]}" \
        'BEGIN { f["k"] = 1e3; f["M"] = 1e6; f["G"] = 1e9; u = substr(rate, length(rate))
                 f["K"] = f["k"]
                 exit !(bytes / (to - from) >= 0.5 * rate * (u in f ? f[u] : 1)) }' ||
        {
            echo "the misses did not keep the store busy: $((after - before)) bytes from $began to $now" >&2
            return 1
        }
    echo "$out"
}

misses_flow() { (($(slowfs_count "$slow" read.bytes) > $1 + (8 << 20))); }

reads 0 "$memory/cached" --fill 64M --count 1 >/dev/null || fail "no file to read"
reads 1 "$slow/misses" --fill 512M --count 1 >/dev/null || fail "no file to read"
"$zcachectl" --daemons "$tmp/1.addr" evict >/dev/null || fail "evict"
reads 1 "$slow/hits" --fill 64M --count 1 >/dev/null || fail "no file to read"

for ((i = 1; i <= opt[repeats]; i++)); do
    bench_progress "repetition $i"
    measure '4 KiB' fi_pingpong bench_pingpong 4096 "${opt[small]}"
    measure '4 KiB' zcache reads 0 "$memory/cached" --size 4K --count "${opt[small]}"
    measure '4 MiB' fi_pingpong bench_pingpong 4194304 "${opt[large]}"
    measure '4 MiB' zcache reads 0 "$memory/cached" --size 4M --count "${opt[large]}"
    measure '1 MiB' alone reads 1 "$slow/hits" --size 1M --count "${opt[hits]}"
    measure '1 MiB' 'beside misses' beside_misses
done
bench_progress
for i in 0 1; do
    stop_daemon "$i" || bench_problem "daemon $i did not drain: $(tail -n 3 "$tmp/$i.log")"
done
slowfs_unmount "$slow" || bench_problem "slowfs ended with status $?"

# What is said to be the base of a ratio, in which metric: a round trip of large messages has
# them both ways, and a large read only one.
bench_results provider="${opt[provider]}" store="slowfs, reads at ${opt[read-rate]} bytes/s"
bench_add '{"4 KiB": ["fi_pingpong", "us"], "4 MiB": ["fi_pingpong", "mb_s"],
            "1 MiB": ["alone", "mb_s"]} as $bases
    | .cases[] |= ($bases[.case] as [$base, $metric]
        | .variants |= (. as $all
            | map(.ratio = {to: $base, of: $metric, median: ratio($all; $base; $metric)})))'
echo "provider ${opt[provider]}, $cores cores; misses from a store of ${opt[read-rate]} bytes/s"
echo "median (lowest-highest) of ${opt[repeats]} repetitions in turn, every byte compared"
bench_table '||round trip, us|MB/s|round trip ratio|MB/s ratio' '
    .cases[] as $c | $c.variants[]
    | [$c.case, .variant, (.metrics.us | s(1)), (.metrics.mb_s | s(0)),
        (.ratio | if .of == "us" then (.median | n(2)), "" else "", (.median | n(2)) end)]'
bench_end
