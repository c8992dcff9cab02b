#!/usr/bin/env bash
# idle.sh - what a daemon takes of a core while it has nothing to do.
#
#     idle.sh [--quick] [--repeats N] [--json FILE] [option ...]
#
# A daemon is left alone for some seconds, and its processor time is read from the scheduler, of all
# of its threads: without a client; with one that has a file open and computes, by the local socket
# and by libfabric. The last two are also measured at the client, whose thread is in the program
# that computes. Printed: percent of a core, and how often a thread of theirs was run, in a second.
# Nothing else is timed: the machine may be busy.
#
#     --seconds N   30, of one measurement    --settle N   5, before each, for what ends by itself
#     --provider P  tcp;ofi_rxm
#     --timeout SECONDS  120, for a client to come and go
set -u
# shellcheck source=tests/bench/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"
opt+=([seconds]=30 [settle]=5 [provider]='tcp;ofi_rxm')
opt[repeats]=3
quick+=([seconds]=5)
bench_options "$@"
zcread=$build/tests/bench/zcread
[[ -x $zcread ]] || bench_skip "this build has no zcread (make programs)"
[[ -r /proc/self/schedstat ]] || bench_skip "this kernel does not count (CONFIG_SCHED_INFO)"

bench_begin # no ranks: no layout
bench_memory
start_daemon 0 --root "$memory" --provider "${opt[provider]}"
"$zcread" --fill 1M --count 1 "$tmp/0.addr" "$memory/file" >/dev/null || fail "no file to read"

# used PID: nanoseconds on a core, and how often, of all threads that live.
used() { cat "/proc/$1/task/"*/schedstat | awk '{ ns += $1; n += $3 } END { printf "%.0f %.0f\n", ns, n }'; }

# watch CASE [PID]: a sample of the daemon, and of a client.
watch() {
    local pids=("${daemon_pids[0]}" "${@:2}") names=('daemon' 'client') ns=() n=() began took i a b

    sleep "${opt[settle]}"
    began=${EPOCHREALTIME/./}
    for i in "${!pids[@]}"; do read -r "ns[i]" "n[i]" < <(used "${pids[i]}"); done
    sleep "${opt[seconds]}"
    took=$((${EPOCHREALTIME/./} - began))
    for i in "${!pids[@]}"; do
        read -r a b < <(used "${pids[i]}")
        jq -nc --arg case "$1" --arg variant "${names[i]}" --argjson ns "$((a - ns[i]))" \
            --argjson n "$((b - n[i]))" --argjson us "$took" \
            '{$case, $variant, metrics: {percent: ($ns / $us / 10), wakes: ($n * 1e6 / $us)}}' \
            >>"$samples"
    done
}

# with CASE OPTION ...: with a client that is idle.
with() {
    local pid case=$1

    shift
    rm -f "$tmp/over" "$tmp/client.out"
    "$zcread" --idle "$tmp/over" "$@" "$tmp/0.addr" "$memory/file" >"$tmp/client.out" \
        2>"$tmp/client.err" &
    pid=$!
    if wait_for "${opt[timeout]}" grep -qs '^idle$' "$tmp/client.out"; then
        watch "$case" "$pid"
    else
        bench_failed "$case" daemon "no client: $(<"$tmp/client.err")"
    fi
    : >"$tmp/over"
    wait "$pid" || bench_problem "$case: the client failed: $(<"$tmp/client.err")"
}

for ((i = 1; i <= opt[repeats]; i++)); do
    bench_progress "repetition $i"
    watch 'no client'
    with 'a client, local' --local
    with "a client, ${opt[provider]}"
done
bench_progress
stop_daemon 0 || bench_problem "the daemon did not drain: $(tail -n 3 "$tmp/0.log")"

bench_results provider="${opt[provider]}" store=tmpfs
echo "${opt[seconds]} s each, median (lowest-highest) of ${opt[repeats]} repetitions in turn"
bench_table '||percent of a core|runs a second' '
    .cases[] as $c | $c.variants[]
    | [$c.case, .variant, (.metrics.percent | s(3)), (.metrics.wakes | s(1))]'
bench_end
