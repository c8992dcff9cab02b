#!/usr/bin/env bash
# seals.sh - the cost of the MAC of each message: round trips with and without.
#
#     seals.sh [--quick] [--repeats N] [--json FILE]
#
# Two daemons on this host, and their clients, of the same build; one daemon and its clients have
# tests/bench/noseal.c preloaded, which makes a MAC free. They are measured alternately, so that
# both see the same noise: reads of 4 KiB that are cached, and opens with their closes; by the local
# socket and by each provider. Printed are the medians of both, of the ratios of neighbouring
# measurements, and the processor time that making and checking MACs takes by itself, beside the
# round trip: a busy machine lengthens the trip, not that time. It fails when that part of the
# median trip without MACs is more than doc/SECURITY.md promises; the ratios scatter by more than
# that, and do not count. Every byte read is compared.
#
#     --most PERCENT  that is promised (5)
#     --count N     2000 reads, and a quarter as many opens, of one measurement
#     --providers   'tcp;ofi_rxm net'
#     --timeout SECONDS  120, for one of them
set -u
# shellcheck source=tests/bench/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"
opt+=([count]=2000 [providers]='tcp;ofi_rxm net' [most]=5)
opt[repeats]=15
quick+=([repeats]=5 [count]=1000)
bench_options "$@"
zcread=$build/tests/bench/zcread
zcseal=$build/tests/bench/zcseal
noseal=$build/tests/.libs/noseal.so
[[ -x $zcread && -x $zcseal && -e $noseal ]] || bench_skip "no zcread, zcseal or noseal in this build (make programs)"

bench_begin # no ranks: no layout
bench_memory

# reads DAEMON OPTION ...: daemon 1 and its clients have no MACs
reads() {
    local preload=

    if (($1 % 2)); then preload=$noseal; fi
    LD_PRELOAD=$preload timeout -k 5 "${opt[timeout]}" "$zcread" "${@:2}" "$tmp/$1.addr" \
        "$memory/cached"
}

declare -A alone
read -r alone['4 KiB, local'] alone['open + close, local'] < <("$zcseal" --local)
read -r fabric_read fabric_open < <("$zcseal")

# pair CASE DAEMON OPTION ...: a sample with MACs and one without, in alternating order, and their
# ratio
pair() {
    local with without first=$((i % 2)) k us=()

    for ((k = 0; k < 2; k++)); do
        read -r us["(first + k) % 2"] _ < <(reads $(($2 + (first + k) % 2)) "${@:3}" 2>"$tmp/run.log")
    done
    with=${us[0]:-} without=${us[1]:-}
    if [[ -z $with || -z $without ]]; then
        bench_failed "$1" 'with seals' "no number: $(tail -n 5 "$tmp/run.log")"
        return
    fi
    jq -nc --arg c "$1" --argjson a "$with" --argjson b "$without" --argjson s "${alone[$1]}" \
        '{case: $c, variant: "with seals", metrics: {us: $a, ratio: ($a / $b), seals: $s}},
         {case: $c, variant: "without", metrics: {us: $b}}' >>"$samples"
}

read -ra providers <<<"${opt[providers]}"
for ((p = 0; p < ${#providers[@]}; p++)); do
    alone["4 KiB, ${providers[p]}"]=$fabric_read
    alone["open + close, ${providers[p]}"]=$fabric_open
    start_daemon $((2 * p)) --root "$memory" --provider "${providers[p]}" --idle-time 10m
    daemon_preload=$noseal start_daemon $((2 * p + 1)) --root "$memory" \
        --provider "${providers[p]}" --idle-time 10m
    reads $((2 * p)) --fill 1M --count 1 >/dev/null || fail "no file to read"
done

for ((i = 1; i <= opt[repeats]; i++)); do
    bench_progress "repetition $i"
    pair '4 KiB, local' 0 --local --count "${opt[count]}"
    pair 'open + close, local' 0 --local --opens $((opt[count] / 4))
    for ((p = 0; p < ${#providers[@]}; p++)); do
        pair "4 KiB, ${providers[p]}" $((2 * p)) --count "${opt[count]}"
        pair "open + close, ${providers[p]}" $((2 * p)) --opens $((opt[count] / 4))
    done
done
bench_progress
for ((p = 0; p < 2 * ${#providers[@]}; p++)); do
    stop_daemon "$p" || bench_problem "daemon $p did not drain: $(tail -n 3 "$tmp/$p.log")"
done

bench_results store=tmpfs
bench_add '.cases[] |= ((.variants | map({key: .variant, value: .metrics}) | from_entries) as $v
    | .percent = if ($v["with seals"].seals and $v.without.us) then
          100 * $v["with seals"].seals.median / $v.without.us.median else null end)'
printf '%d repetitions in turn, verified\n' "${opt[repeats]}"
bench_table '|with seals, us|without|ratio|lowest|highest|seals alone, us|of the trip, %' '
    .cases[] | .case as $c | .percent as $percent
    | (.variants | map({key: .variant, value: .metrics}) | from_entries) as $v
    | [$c, ($v["with seals"].us | m(1)), ($v.without.us | m(1)),
       ($v["with seals"].ratio | m(3), (.lowest | n(3)), (.highest | n(3))),
       ($v["with seals"].seals | m(2)),
       ($percent | n(1))]'
bench_judge "${opt[most]}" 'percent of the round trip are seals' '.cases[] | [.case, .percent]'
bench_end
