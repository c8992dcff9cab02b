#!/usr/bin/env bash
# handover.sh - how long it takes from MPI_File_sync in one job to the bytes in another one.
#
#     handover.sh [--quick] [--repeats N] [--json FILE] [option ...]
#
# Two jobs run side by side on one store, a modelled slow one (tests/slowfs).  One writes a record
# with all ranks and syncs, again and again; the other one reads each record as soon as it knows
# that it is there: by zcache_steps and zcache_wait_step through one daemon, synced to level staged
# or, as by default, durable; and, on the same store, as is done without: the sync, a file that
# says so, and the file opened again.  Of the steps of a run but the first, at which the consumer
# opens the file, the median counts.  How often the file system was asked to read, too.
#
#     --ranks N  2, of each job    --steps N  10    --record SIZE  4M
#     --pause N  200, milliseconds from a sync to the next record
#     --write-rate B --read-rate B  200M 400M, bytes a second of the store
#     --op-us N  1000, microseconds of each request    --latency-us N  200
#     --timeout SECONDS  120, for one run
set -u
# shellcheck source=tests/bench/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"
opt+=([ranks]=2 [steps]=10 [record]=4M [pause]=200 [write-rate]=200M [read-rate]=400M [op-us]=1000
    [latency-us]=200)
quick+=([steps]=5)
bench_options "$@"
handover=$build/tests/bench/handover
[[ -x $handover ]] || bench_skip "this build has no handover (make programs)"

bench_start "$((2 * opt[ranks]))"
bench_memory
bytes=$(numfmt --from=iec "${opt[record]}")

# run WHAT HOW TYPE PRELOAD NAME: one of the two jobs, its times in $tmp/WHAT.json.
run() {
    ranks "${opt[ranks]}" "$4" "$handover" "$1" "$2" "$3:$5" "$memory/marker" "${opt[steps]}" \
        "$bytes" "${opt[pause]}" >"$tmp/$1.json" 2>"$tmp/$1.log"
}

# sample VARIANT HOW TYPE PRELOAD DAEMONS HINTS
sample() {
    local name=$slow/data.$RANDOM before reads consumer status

    before=$(slowfs_count "$slow" read.requests)
    export ZCACHE_DAEMONS=$5 HANDOVER_HINTS=$6
    run consume "${@:2:3}" "$name" &
    consumer=$!
    run produce "${@:2:3}" "$name"
    status=$?
    wait "$consumer" || status=$?
    unset ZCACHE_DAEMONS HANDOVER_HINTS
    reads=$(($(slowfs_count "$slow" read.requests) - before))
    rm -f -- "$name" "$memory"/marker.*
    if ((status == 0)) &&
        jq -ecs --arg variant "$1" --argjson reads "$reads" '
            [range(1; .[0] | length) as $i | (.[1][$i] - .[0][$i]) / 1e6] | sort
            | {case: "handover", variant: $variant,
               metrics: {ms: .[length / 2 | floor], most_ms: .[-1], reads: $reads}}' \
            "$tmp/produce.json" "$tmp/consume.json" >>"$samples" 2>>"$tmp/produce.log"; then
        return
    fi
    bench_failed handover "$1" "no number: $(tail -qn 3 "$tmp/produce.log" "$tmp/consume.log")"
}

bench_slowfs --write-rate "${opt[write-rate]}" --read-rate "${opt[read-rate]}" \
    --op-us "${opt[op-us]}" --latency-us "${opt[latency-us]}"
start_daemon 0 --root "$slow"
for ((i = 1; i <= opt[repeats]; i++)); do
    bench_progress "repetition $i"
    sample 'ufs: sync, marker, reopen' marker ufs '' '' ''
    sample 'zcache: steps, staged' steps zcache "$plugin" "$tmp/0.addr" zcache_sync_level=staged
    sample 'zcache: steps, durable' steps zcache "$plugin" "$tmp/0.addr" ''
done
bench_progress
stop_daemon 0 || bench_problem "the daemon did not drain: $(tail -n 3 "$tmp/0.log")"
slowfs_unmount "$slow" || bench_problem "slowfs ended with status $?"

bench_results store="slowfs, ${opt[write-rate]}B/s"
echo "two jobs of ${opt[ranks]} ranks, ${opt[steps]} steps of ${opt[record]}B, every byte compared"
echo "layout: $(bench_layout)"
echo "from the call of MPI_File_sync until all ranks of the other job have the bytes: median" \
    "(lowest-highest) of ${opt[repeats]} repetitions in turn"
bench_table '|ms a step|the slowest step|reads of the file system' '
    .cases[] as $c | ([$c.case], ($c.variants[]
    | [.variant, (.metrics.ms | s(1)), (.metrics.most_ms | s(1)), (.metrics.reads | s(0))]))'
bench_end
