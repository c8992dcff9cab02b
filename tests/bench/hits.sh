#!/usr/bin/env bash
# hits.sh - reads of what a daemon has cached: beside fi_pingpong, and beside misses.
#
#     hits.sh [--quick] [--repeats N] [--provider P] [--json FILE]
#
# A client of a daemon on this host reads 4 KiB and 4 MiB at a time of a file that is cached,
# and fi_pingpong exchanges messages of these sizes with the same provider.  Printed: the round
# trip of a small read over that of fi_pingpong, and the bandwidth of large reads over its.
#
# Then 1 MiB reads of cached data alone, and while another client reads from a slow store a
# file that is larger than the cache, as fast as it can.  Printed: the bandwidth of the hits
# beside the misses over that alone; a run counts only when the store was kept busy.
#
# All take turns, every byte read is compared; medians and spread.
#
#     --small N     3000 reads of 4 KiB    --large N   100 reads of 4 MiB
#     --hits N      2000 reads of 1 MiB    --read-rate RATE   200M, of the slow store
set -u
# shellcheck source=tests/bench/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"
opt+=([provider]='tcp;ofi_rxm' [small]=3000 [large]=100 [hits]=2000 [read-rate]=200M)
quick+=([small]=1000 [large]=30 [hits]=500)
bench_options "$@"
zcread=$build/tests/bench/zcread
for p in fi_pingpong jq; do
    command -v "$p" >/dev/null || bench_skip "no $p (Debian: libfabric-bin, jq)"
done
[[ -x $zcread ]] || bench_skip "this build has no zcread (make bench-tools)"

make_tmp
samples=$tmp/samples
: >"$samples"
bench_memory
bench_slowfs --read-rate "${opt[read-rate]}" --write-rate 0
start_daemon 0 --root "$memory" --provider "${opt[provider]}" --idle-time 10m
start_daemon 1 --root "$slow" --provider "${opt[provider]}" --cache-size 256M

server_listens() { grep -qi ":$(printf %04X "$1") 00000000:0000 0A" /proc/net/tcp /proc/net/tcp6; }

# pingpong SIZE COUNT: "microseconds of a round trip, MB/s"; fi_pingpong tells half a round trip.
pingpong() {
    local server port=$((20000 + RANDOM % 20000)) out

    fi_pingpong -B "$port" -p "${opt[provider]}" -e rdm -S "$1" -I "$2" >/dev/null 2>&1 &
    server=$!
    wait_for 10 server_listens "$port" || { kill "$server" 2>/dev/null; return 1; }
    out=$(timeout 60 fi_pingpong -P "$port" -p "${opt[provider]}" -e rdm -S "$1" -I "$2" 127.0.0.1 2>&1)
    wait "$server"
    awk '$1 ~ /^[0-9]+[km]$/ { print 2 * $7, $6; ok = 1 } END { exit !ok }' <<<"$out"
}

# reads DAEMON FILE OPTION ...: the same of reads through a daemon.
reads() { timeout -k 5 "${opt[timeout]}" "$zcread" "${@:3}" "$tmp/$1.addr" "$2"; }

# sample CASE VARIANT MICROSECONDS MB/S
sample() { jq -nc --arg case "$1" --arg variant "$2" --argjson us "$3" --argjson mb "$4" '{$case, $variant, $us, $mb}' >>"$samples"; }

# measure CASE VARIANT COMMAND ...
measure() {
    local us mb

    read -r us mb _ < <("${@:3}") && [[ -n ${mb:-} ]] || { bench_problem "$1, $2: no number"; return 1; }
    sample "$1" "$2" "$us" "$mb"
}

# Hits while another client misses; the misses must have kept the store at half its rate or more.
beside_misses() {
    local before after began now out status

    rm -f "$tmp/enough"
    before=$(slowfs_count "$slow" read.bytes) began=$EPOCHREALTIME
    reads 1 "$slow/misses" --size 1M --until "$tmp/enough" >"$tmp/misses.out" 2>&1 &
    misser=$!
    wait_for 10 misses_flow "$before" || return 1
    out=$(reads 1 "$slow/hits" --size 1M --count "${opt[hits]}")
    status=$?
    after=$(slowfs_count "$slow" read.bytes) now=$EPOCHREALTIME
    : >"$tmp/enough"
    wait "$misser" || { echo "misses: $(<"$tmp/misses.out")" >&2; return 1; }
    ((status == 0)) || return 1
    awk -v bytes=$((after - before)) -v from="$began" -v to="$now" -v rate="${opt[read-rate]}" \
        'BEGIN { f["k"] = 1e3; f["M"] = 1e6; f["G"] = 1e9; u = substr(rate, length(rate))
                 exit !(bytes / (to - from) >= 0.5 * rate * (u in f ? f[u] : 1)) }' ||
        { echo "the misses did not keep the store busy: $((after - before)) bytes from $began to $now" >&2; return 1; }
    echo "$out"
}

misses_flow() { (($(slowfs_count "$slow" read.bytes) > $1 + (8 << 20))); }

reads 0 "$memory/cached" --fill 64M --count 1 >/dev/null || fail "no file to read"
reads 1 "$slow/misses" --fill 512M --count 1 >/dev/null || fail "no file to read"
"$zcachectl" --daemons "$tmp/1.addr" evict >/dev/null || fail "evict"
reads 1 "$slow/hits" --fill 64M --count 1 >/dev/null || fail "no file to read"

for ((i = 1; i <= opt[repeats]; i++)); do
    bench_progress "repetition $i"
    measure '4 KiB' fi_pingpong pingpong 4096 "${opt[small]}"
    measure '4 KiB' zcache reads 0 "$memory/cached" --size 4K --count "${opt[small]}"
    measure '4 MiB' fi_pingpong pingpong 4194304 "${opt[large]}"
    measure '4 MiB' zcache reads 0 "$memory/cached" --size 4M --count "${opt[large]}"
    measure '1 MiB' alone reads 1 "$slow/hits" --size 1M --count "${opt[hits]}"
    measure '1 MiB' 'beside misses' beside_misses
done
bench_progress
for i in 0 1; do
    stop_daemon "$i" || bench_problem "daemon $i did not drain: $(tail -n 3 "$tmp/$i.log")"
done
slowfs_unmount "$slow" || bench_problem "slowfs ended with status $?"

results=$(jq -s -L "$bench_dir" --arg provider "${opt[provider]}" --argjson cores "$cores" '
    include "bench";
    . as $all
    | {benchmark: "hits", conditions: {$provider, $cores}, cases: (in_order(.case) | map(. as $case
        | [$all[] | select(.case == $case)]
        | {$case, variants: (. as $mine | in_order(.variant) | map(. as $v | [$mine[] | select(.variant == $v)]
            | {variant: $v, us: ([.[].us] | spread), mb_s: ([.[].mb] | spread)}))}
        | .variants[0] as $first
        | .variants |= map(.us_of_first = .us.median / $first.us.median
            | .mb_s_of_first = .mb_s.median / $first.mb_s.median)))}' "$samples")
if [[ -n ${opt[json]} ]]; then printf '%s\n' "$results" >"${opt[json]}"; fi
echo "provider ${opt[provider]}, $cores cores; misses from a store of ${opt[read-rate]} bytes/s"
echo "median (lowest-highest) of ${opt[repeats]} repetitions in turn, every byte compared"
bench_table '||round trip, us|MB/s|round trip ratio|MB/s ratio' '
    .cases[] as $c | $c.variants[] | [$c.case, .variant, (.us | s(1)), (.mb_s | s(0)), (.us_of_first | n(2)), (.mb_s_of_first | n(2))]'
bench_end
