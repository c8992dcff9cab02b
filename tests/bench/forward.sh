#!/usr/bin/env bash
# forward.sh - large contiguous writes forwarded to a daemon, beside what fi_pingpong moves.
#
#     forward.sh [--quick] [--repeats N] [--provider P] [--json FILE] [option ...]
#
# One rank writes 8 x 64 MiB through zcache: to a daemon on this host and reads them back,
# every byte verified; the close waits until the daemon has all of them and counts.
# fi_pingpong moves messages of 4 MiB with the same provider, by default tcp;ofi_rxm.  The two
# alternate, so that both see the same noise; medians and spread are printed, and the ratio.
# The aggregator has 16 MiB, so that nearly all goes through; the daemon's cache holds
# everything and its write-back waits: this measures the way to the daemon, not the store.  A
# run before the others does not count: in it the kernel clears the daemon's memory.
#
#     --large N   1000 messages of 4 MiB    --timeout SECONDS  120, for one run
set -u
# shellcheck source=tests/bench/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"
opt+=([provider]='tcp;ofi_rxm' [large]=$large_messages)
bench_options "$@"
command -v fi_pingpong >/dev/null || bench_skip "no fi_pingpong (Debian: libfabric-bin)"
[[ -x $simpario && -e $plugin ]] || bench_skip "this build has no simpario or no plugin"

bench_begin # one rank: no layout
bench_memory
export ZCACHE_LOCAL=false # the fabric is what is compared
start_daemon 0 --root "$memory" --cache-size 1G --idle-time 10m --provider "${opt[provider]}"

# sample VARIANT JQ-FILTER: MB/s, from $tmp/run.json
sample() {
    jq -ec "{case: \"forward\", variant: \"$1\", metrics: {mb_s: ($2)}}" "$tmp/run.json" \
        >>"$samples"
}

exchanged() {
    local mb

    read -r _ mb < <(bench_pingpong 4194304 "${opt[large]}" 2>"$tmp/run.log") &&
        echo "$mb" >"$tmp/run.json" &&
        sample 'fi_pingpong 4 MiB' . && return
    bench_failed forward 'fi_pingpong 4 MiB' "no number: $(tail -n 5 "$tmp/run.log")"
}

# One run; false: it was not verified.
forward() {
    local status

    : >"$tmp/run.json"
    ZCACHE_DAEMONS=$tmp/0.addr ranks 1 "$plugin" "$simpario" -f "zcache:$memory/data" --phases 8 \
        --record 64M --json "$tmp/run.json" --quiet --hint zcache_close_level=staged \
        --hint zcache_cache_size=16M >"$tmp/run.log" 2>&1
    status=$?
    ((status == 0)) && jq -e '.verification.result == "passed"' "$tmp/run.json" >/dev/null &&
        return
    why="status $status, no number: $(tail -n 5 "$tmp/run.log")"
    return 1
}

forwarded() {
    local why

    if forward; then
        sample 'write + close, to daemon' '.repeats[0].write.io_close_bytes_per_second / 1e6'
        sample 'read 64 MiB from daemon' '.repeats[0].read.io_bytes_per_second / 1e6'
    else
        bench_failed forward 'write + close, to daemon' "$why"
        bench_failed forward 'read 64 MiB from daemon' "the same run"
    fi
}

bench_progress "before the others"
forward || bench_failed forward 'write + close, to daemon' "the first run: $why"
for ((i = 1; i <= opt[repeats]; i++)); do
    bench_progress "repetition $i"
    exchanged
    forwarded
done
bench_progress
"$zcachectl" --daemons "$tmp/0.addr" evict >/dev/null
stop_daemon 0 || bench_problem "the daemon did not drain: $(tail -n 3 "$tmp/0.log")"

bench_results store=tmpfs
bench_add '.cases[].variants |= (. as $all
    | map(.of_pingpong = ratio($all; "fi_pingpong 4 MiB"; "mb_s")))'
printf 'provider %s, %d repetitions in turn, verified\n' "${opt[provider]}" "${opt[repeats]}"
bench_table 'MB/s|lowest|median|highest|of fi_pingpong' '.cases[].variants[]
    | [.variant, (.metrics.mb_s | (.lowest | n(0)), m(0), (.highest | n(0))),
       if .variant | startswith("fi_pingpong") then "" else (.of_pingpong | n(2)) end]'
bench_end
