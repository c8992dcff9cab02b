#!/usr/bin/env bash
# clients.sh - a daemon with many clients: what it moves, and how long its threads wait for a lock.
#
#     clients.sh [--quick] [--repeats N] [--json FILE] [option ...]
#
# Clients of one job, each with a file of its own and 16 requests under way, write to a daemon whose
# cache has room for all, and read it back from there: what is measured is the daemon, not a store.
# One lock guards its cache. Printed beside what is moved: for how much of the time a thread waited
# for that lock, of all threads together (100 % is one thread that does nothing else), and how often
# for each request. What more locks could gain is less than that.
#
#     --clients LIST      1 4 16      --records LIST  4K 1M, of each request
#     --each SIZE         64M, what all clients together write, and read, in a round
#     --rounds N          8
#     --timeout SECONDS   120, for one run
set -u
# shellcheck source=tests/bench/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"
opt+=([clients]='1 4 16' [records]='4K 1M' [each]=64M [rounds]=8)
quick+=([rounds]=2 [clients]='1 16')
kinds[each]=size
bench_options "$@"
zcjob=$build/tests/bench/zcjob
[[ -x $zcjob ]] || bench_skip "this build has no zcjob (make programs)"

bench_begin # no ranks: no layout
bench_memory
start_daemon 0 --root "$memory" --cache-size 512M --idle-time 0

# What the daemon counts, of its cache and requests.
counts() { "$zcachectl" --daemons "$tmp/0.addr" --json stats | jq -c '.daemons[0].stats'; }

# measure CASE VARIANT CLIENTS RECORD OPTION ...
measure() {
    local before after line began now each

    each=$(($(numfmt --from=iec "${opt[each]}") / $3))
    before=$(counts) began=${EPOCHREALTIME/./}
    line=$(timeout -k 5 "${opt[timeout]}" "$zcjob" --clients "$3" --file "$each" --burst "$each" \
        --rounds "${opt[rounds]}" --record "$4" "${@:5}" "$tmp/0.addr" "$memory/data.$4" \
        2>"$tmp/job.err")
    now=${EPOCHREALTIME/./} after=$(counts)
    if [[ -z $line ]]; then
        bench_failed "$1" "$2" "$(<"$tmp/job.err")"
        return
    fi
    jq -nc --arg c "$1" --arg v "$2" --argjson mb "${line#* }" --argjson us $((now - began)) \
        --argjson was "$before" --argjson is "$after" \
        '{case: $c, variant: $v, metrics: {mb_s: $mb,
          lock_percent: (($is.lock_wait_ns - $was.lock_wait_ns) / $us / 10),
          waits_per_request:
            (($is.lock_waits - $was.lock_waits) / ($is.requests - $was.requests))}}' \
        >>"$samples"
}

for ((i = 1; i <= opt[repeats]; i++)); do
    for record in ${opt[records]}; do
        for n in ${opt[clients]}; do
            bench_progress "repetition $i: $n clients, $record"
            measure "$record, write" "$n clients" "$n" "$record"
            measure "$record, read" "$n clients" "$n" "$record" --read
        done
    done
done
bench_progress
stop_daemon 0 || bench_problem "the daemon did not drain: $(tail -n 3 "$tmp/0.log")"

bench_results store=tmpfs
echo "$cores cores, local socket; median (lowest-highest) of ${opt[repeats]} repetitions in turn"
bench_table '||MB/s|waiting for the lock, %|waits a request' '
    .cases[] as $c | $c.variants[]
    | [$c.case, .variant, (.metrics.mb_s | s(0)), (.metrics.lock_percent | s(2)),
       (.metrics.waits_per_request | s(3))]'
bench_end
