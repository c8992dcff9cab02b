#!/usr/bin/env bash
# readahead.sh - what reading ahead hides of a slow shared store.
#
#     readahead.sh [--quick] [--ranks N] [--repeats N] [--json FILE] [option ...]
#
# Ranks read a file in order, collectively, their pieces interleaved, and compute between the
# reads.  The file lies on slowfs; caches are cold at the start of each run.  Without reading
# ahead the job waits for the store in each phase; with it, for the first phase and for what
# computing is too short to hide.  Printed, with prefetch on and off, without and with a
# daemon: time in read calls, and that with prefetch over that without; the same without
# computing, where reading ahead can hide nothing and shall cost nothing.
#
#     --phases N          50           --compute SECONDS   0.1, in each phase
#     --record SIZE       1M           --piece SIZE        64K
#     --compute-by HOW    spin, or sleep where there are more ranks than cores
#     --read-rate RATE    50M          --op-us N  50       --latency-us N  200
#     --timeout SECONDS   120, for one run
set -u
# shellcheck source=tests/bench/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"
opt+=([ranks]=4 [phases]=50 [record]=1M [piece]=64K [compute]=0.1 [compute-by]=
    [read-rate]=50M [op-us]=50 [latency-us]=200)
quick+=([phases]=20)
bench_options "$@"
: "${opt[compute-by]:=$(bench_compute_by "${opt[ranks]}")}"

# label | daemon, or nothing | hint; with each, the one without prefetch
variants=(
    'embedded           | | zcache_prefetch=true'
    'embedded, off      | | zcache_prefetch=false'
    'one daemon         |0| zcache_prefetch=true'
    'one daemon, off    |1| zcache_prefetch=false'
)

bench_start "${opt[ranks]}"
bench_memory
bench_slowfs --read-rate "${opt[read-rate]}" --write-rate 0 --op-us "${opt[op-us]}" \
    --latency-us "${opt[latency-us]}"
start_daemon 0 --root "$slow"
start_daemon 1 --root "$slow" --prefetch=off

# The file, made behind the back of the slow store.
program=(--phases "${opt[phases]}" --record "${opt[record]}" --pattern interleaved
    --piece "${opt[piece]}")
ranks "${opt[ranks]}" '' "$simpario" -f "ufs:$memory/slow/data" \
    --write --keep --quiet --no-reference \
    "${program[@]}" >"$tmp/run.log" 2>&1 || fail "no file to read: $(tail -n 5 "$tmp/run.log")"

evict() { [[ -z $1 ]] || "$zcachectl" --daemons "$tmp/$1.addr" evict >/dev/null; }

# run CASE VARIANT SECONDS: reads the file once and adds a sample of seconds in read calls.
run() {
    local label daemon hint status

    IFS='|' read -r label daemon hint <<<"$2"
    label=$(trim "$label") daemon=$(trim "$daemon") hint=$(trim "$hint")
    evict "$daemon" || fail "zcachectl evict"
    ZCACHE_DAEMONS=${daemon:+$tmp/$daemon.addr} \
        ranks "${opt[ranks]}" "$plugin" "$simpario" -f "zcache:$slow/data" --hint "$hint" \
        --read --keep \
        --quiet --no-reference --json "$tmp/run.json" "${program[@]}" --compute "$3" \
        --compute-by "${opt[compute-by]}" >"$tmp/run.log" 2>&1
    status=$?
    ((status == 0)) && jq -ec --arg case "$1" --arg variant "$label" '
        select(.verification.result == "passed" and .verification.mpi_bytes == .file_bytes)
        | .repeats[0].read as $r
        | {$case, $variant, ranks, bytes: .file_bytes, hints: .options.hints,
           metrics: {read_s: $r.io_seconds, total_s: $r.total_seconds}}' \
        "$tmp/run.json" >>"$samples" && return
    bench_failed "$1" "$label" "status $status, no number: $(tail -n 5 "$tmp/run.log")"
}

for ((i = 1; i <= opt[repeats]; i++)); do
    for variant in "${variants[@]}"; do
        bench_progress "repetition $i: ${variant%%|*}"
        run computing "$variant" "${opt[compute]}"
        run "not computing" "$variant" 0
    done
done
bench_progress
for i in 0 1; do
    stop_daemon "$i" || bench_problem "daemon $i did not drain: $(tail -n 3 "$tmp/$i.log")"
done
slowfs_unmount "$slow" || bench_problem "slowfs ended with status $?"

store="slowfs, reads at ${opt[read-rate]} bytes/s, ${opt[op-us]} us per request, ${opt[latency-us]} us round trip"
work="${opt[phases]} phases of ${opt[compute]} s (${opt[compute-by]}) and ${opt[record]} per rank, pieces of ${opt[piece]}, collective"
bench_results store="$store" work="$work"
bench_add '.cases[].variants |= (. as $all
    | map(.of_off = ratio($all; .variant + ", off"; "read_s")))'
echo "${opt[ranks]} ranks, $work"
echo "store: $store"
echo "layout: $(bench_layout)"
echo "median (lowest-highest) of ${opt[repeats]} repetitions in turn, verified; seconds"
bench_table '||in read calls|open to close|read calls, of those without prefetch' '
    .cases[] as $c | $c.variants[]
    | [$c.case, .variant, (.metrics.read_s | s(2)), (.metrics.total_s | s(2)), (.of_off | n(3))]'
bench_end
