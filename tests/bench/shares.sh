#!/usr/bin/env bash
# shares.sh - a greedy and a modest job at one daemon: what the modest one's bursts take.
#
#     shares.sh [--quick] [--repeats N] [--json FILE] [option ...]
#
# The modest job writes a burst and waits until it is stored, or reads one that is not cached, then
# computes for a while, and so on. The greedy one writes, or reads, without end, with many clients,
# each with 16 requests under way. They share a daemon in front of a slow store (tests/slowfs).
# In turn, so that all see the same noise, the modest job is
#
#     alone            with all of the store and of the cache
#     alone, its share with half of both, as two jobs would have them
#     beside           with the greedy job
#     as one job       the same, but the daemon is told that both are one: without shares
#
# and what counts is the ratio of the medians of "beside" and "alone, its share". It fails when that
# is more than doc/SECURITY.md promises, of writing or of reading.
#
#     --most RATIO       that is promised (1.3)
#     --clients N        of the greedy job (8)
#     --burst SIZE       of the modest job (16M)      --rounds N   bursts (20)
#     --pause MS         between them (100)
#     --cache SIZE-IN-MIB of the daemon (128)
#     --rate MB/S        of the store, in either direction (200)
#     --timeout SECONDS  120, for one run
set -u
# shellcheck source=tests/bench/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"
opt+=([clients]=8 [burst]=16M [rounds]=20 [pause]=100 [cache]=128 [rate]=200
    [most]=1.3)
quick+=([rounds]=8)
bench_options "$@"
zcjob=$build/tests/bench/zcjob
[[ -x $zcjob ]] || bench_skip "this build has no zcjob (make programs)"

bench_begin # no ranks: no layout
obstacle=$(slowfs_obstacle)
[[ -z $obstacle ]] || bench_skip "$obstacle"
bench_memory

# job NAME SLURM-JOB OPTION ...: milliseconds of a burst, and MB/s
job() { SLURM_JOB_ID=$2 timeout -k 5 "${opt[timeout]}" "$zcjob" "${@:3}" "$tmp/0.addr" "$tmp/at/$1"; }

# with PART COMMAND: a daemon with one PARTth of store and cache
with() {
    local part=$1 status

    slowfs_mount "$memory/below" "$tmp/at" --write-rate $((opt[rate] / part))M \
        --read-rate $((opt[rate] / part))M || bench_skip "slowfs does not start"
    start_daemon 0 --root "$tmp/at" --cache-size $((opt[cache] / part))M
    "${@:2}"
    status=$?
    stop_daemon 0 || bench_problem "the daemon did not drain: $(tail -n 3 "$tmp/0.log")"
    slowfs_unmount "$tmp/at"
    return $status
}

modest=(--burst "${opt[burst]}" --rounds "${opt[rounds]}" --pause "${opt[pause]}")

# measure CASE VARIANT GREEDY-JOB: GREEDY-JOB is its number; 0: there is none. The modest one is 1.
measure() {
    local way=() pid= ms greedy=0 began

    if [[ $1 == read ]]; then way=(--read); fi
    if (($3)); then
        rm -f "$tmp/over"
        job greedy "$3" --clients "${opt[clients]}" --file 128M --until "$tmp/over" "${way[@]}" \
            >"$tmp/greedy.out" 2>"$tmp/greedy.err" &
        pid=$!
        began=$(moved)
        wait_for 30 busy "$began" || bench_problem "the greedy job does not begin"
    fi
    read -r ms _ < <(job modest 1 --file 256M "${modest[@]}" "${way[@]}" 2>"$tmp/modest.err")
    if [[ -n $pid ]]; then
        touch "$tmp/over"
        wait "$pid" || bench_failed "$1" "$2" "the greedy job: $(<"$tmp/greedy.err")"
        read -r _ greedy <"$tmp/greedy.out"
    fi
    if [[ -z $ms ]]; then
        bench_failed "$1" "$2" "$(<"$tmp/modest.err")"
        return
    fi
    jq -nc --arg c "$1" --arg v "$2" --argjson ms "$ms" --argjson mb "${greedy:-0}" \
        '{case: $c, variant: $v, metrics: {ms: $ms, greedy_mb_s: $mb}}' >>"$samples"
}

# What the store has moved so far, in bytes; and whether it is at work for the greedy job.
moved() { jq '[.. | numbers] | add | floor' "$tmp/at/.slowfs"; }
busy() { (($(moved) > $1 + 50000000)); }

mkdir -p "$memory/below" "$tmp/at"
files() {
    job modest 1 --file 256M --burst 256M --rounds 1 >/dev/null &&
        job greedy 2 --clients "${opt[clients]}" --file 128M --burst 128M --rounds 1 >/dev/null
}
rate=${opt[rate]}
opt[rate]=4000
with 1 files || bench_skip "the files cannot be written"
opt[rate]=$rate

for ((i = 1; i <= opt[repeats]; i++)); do
    for way in write read; do
        bench_progress "repetition $i, $way"
        with 1 measure "$way" 'alone' 0
        with 2 measure "$way" 'alone, its share' 0
        with 1 measure "$way" 'beside' 2
        with 1 measure "$way" 'as one job' 1
    done
done
bench_progress

bench_results store=slowfs
bench_add '.cases[].variants |= (. as $all
    | map(.of_share = ratio($all; "alone, its share"; "ms")))'
printf '%s clients beside one, store %s MB/s, cache %s MiB; bursts of %s every %s ms\n' \
    "${opt[clients]}" "${opt[rate]}" "${opt[cache]}" "${opt[burst]}" "${opt[pause]}"
bench_table 'burst, ms|lowest|median|highest|of its share|greedy MB/s' '.cases[] | .case as $c
    | .variants[]
    | [$c + ": " + .variant, (.metrics.ms | (.lowest | n(1)), m(1), (.highest | n(1))),
       (.of_share | n(2)), (.metrics.greedy_mb_s | m(0))]'
bench_judge "${opt[most]}" 'times what it takes alone with its share' '
    .cases[] | .case as $c | .variants[] | select(.variant == "beside")
    | [$c + ": a burst beside a greedy job", .of_share]'
bench_end
