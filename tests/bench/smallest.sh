#!/usr/bin/env bash
# smallest.sh - what the smallest program takes from its start to its end.
#
#     smallest.sh [--quick] [--repeats N] [--json FILE] [--ranks N]
#
# Each rank opens a file on tmpfs, writes one integer, and closes it; no more. Timed is all that a
# user waits for: the launcher, MPI_Init and MPI_Finalize are in it. With ROMIO's own driver, with
# zcache without a daemon, through a daemon that runs, and with "zcache run", which starts one and
# stops it. They take turns; the file is compared each time.
#
#     --ranks N  2    --timeout SECONDS  120, for one run
set -u
# shellcheck source=tests/bench/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"
opt+=([ranks]=2)
opt[repeats]=15
quick+=([repeats]=5)
bench_options "$@"
small=$build/tests/bench/small
[[ -x $small && -x $zcache ]] || bench_skip "this build has no small or no zcache (make programs)"

bench_start "${opt[ranks]}"
bench_memory
start_daemon 0 --root "$memory"

# The integers of all ranks, as small stamps them.
for ((r = 0; r < opt[ranks]; r++)); do
    for ((k = 0; k < 4; k++)); do printf %b "\\x$(printf %02x $(((r * 59 + k) & 255)))"; done
done >"$tmp/expected"

# sample VARIANT TYPE PRELOAD DAEMONS [zcache run]: of the launcher itself
sample() {
    local name=$memory/data.$RANDOM began took

    began=${EPOCHREALTIME/./}
    if ZCACHE_DAEMONS=$4 ranks_of "$3" "${@:5}" "$small" once "$2:$name" 4 1 >"$tmp/run.json" \
        2>"$tmp/run.log" && took=$((${EPOCHREALTIME/./} - began)) &&
        cmp "$tmp/expected" "$name" 2>>"$tmp/run.log" &&
        jq -ec --arg variant "$1" --argjson us "$took" \
            '{case: "smallest", $variant, metrics: (. + {ms: ($us / 1000)})}' "$tmp/run.json" \
            >>"$samples" 2>>"$tmp/run.log"; then
        rm -f -- "$name"
        return
    fi
    rm -f -- "$name"
    bench_failed smallest "$1" "no number: $(tail -n 5 "$tmp/run.log")"
}

# ranks_of PRELOAD [zcache run] PROGRAM ...
ranks_of() {
    local MPIEXEC=${MPIEXEC:-mpiexec.mpich}

    if [[ $2 == "$zcache" ]]; then
        timeout -k 5 "${opt[timeout]}" "$zcache" run --root "$memory" -- "$MPIEXEC" \
            -n "${opt[ranks]}" "${@:4}" </dev/null
    else
        ranks "${opt[ranks]}" "$1" "${@:2}"
    fi
}

for ((i = 1; i <= opt[repeats]; i++)); do
    bench_progress "repetition $i"
    sample 'ufs:' ufs '' ''
    sample 'zcache: embedded' zcache "$plugin" ''
    sample 'zcache: 1 daemon' zcache "$plugin" "$tmp/0.addr"
    sample 'zcache run' zcache '' '' "$zcache" run
done
bench_progress
stop_daemon 0 || bench_problem "the daemon did not drain: $(tail -n 3 "$tmp/0.log")"

bench_results store=tmpfs
bench_add '.cases[] |= (.variants |= (. as $all | map(.of_ufs = ratio($all; "ufs:"; "ms"))))'
echo "open, one integer of each of ${opt[ranks]} ranks, close, on tmpfs, compared"
echo "layout: $(bench_layout)"
echo "milliseconds, median (lowest-highest) of ${opt[repeats]} repetitions in turn"
bench_table '|start to end|of ufs:|of it: open|write|close' '
    .cases[].variants[] | .metrics as $m
    | [.variant, ($m.ms | s(0)), (.of_ufs | n(2)), ($m.open_ms | m(1)), ($m.write_ms | m(1)),
       ($m.close_ms | m(1))]'
bench_end
