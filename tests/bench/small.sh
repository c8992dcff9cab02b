#!/usr/bin/env bash
# small.sh - small independent accesses by all ranks at once, beside ROMIO's own driver.
#
#     small.sh [--quick] [--ranks "2 4 ..."] [--repeats N] [--json FILE] [option ...]
#
# Each rank writes records of one size, one after the other, into a part of its own of one file on
# tmpfs, and reads those of another rank; then records of 4 bytes through the shared file pointer;
# then the file is opened and closed.  Nothing is computed, and the file system is as fast as
# memory: nothing can be hidden, so this is what the way to the owner of a block costs.  Every byte
# that is read is compared.
#
# With files, each rank writes a record to each of many files, one after the other; with held, many
# are open at a time; with reopen, what was written is read through a new open, also with
# zcache_read_around=false.  These three go through a daemon, too.
#
#     --cases LIST   records shared opens files held reopen, of these
#     --sizes LIST   64 4K 64K, of records    --count N   4000 records a rank; N/10 from 64K up
#     --timeout SECONDS  120, for one run
set -u
# shellcheck source=tests/bench/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"
opt+=([ranks]='2 4' [cases]='records shared opens files held reopen'
    [sizes]='64 4K 64K' [count]=4000)
quick+=([count]=500)
bench_options "$@"
read -ra counts <<<"${opt[ranks]}"
read -ra sizes <<<"${opt[sizes]}"
for word in ${opt[cases]}; do
    [[ $word =~ ^(records|shared|opens|files|held|reopen)$ ]] ||
        bench_misuse "--cases $word: not one of records shared opens files held reopen"
done
wanted() { [[ " ${opt[cases]} " == *" $1 "* ]]; }
most=0
for n in "${counts[@]}"; do
    if ((n > most)); then most=$n; fi
done
small=$build/tests/bench/small
[[ -x $small ]] || bench_skip "this build has no small (make programs)"

bench_start "$most" # one layout for all
bench_memory

declare -A daemon_of=(['zcache: 1 daemon']=$tmp/0.addr)

# sample CASE VARIANT TYPE PRELOAD RANKS MODE SIZE COUNT
sample() {
    local name=$memory/data.$RANDOM

    if ZCACHE_DAEMONS=${daemon_of[$2]:-} ranks "$5" "$4" "$small" "$6" "$3:$name" "$7" "$8" >"$tmp/run.json" 2>"$tmp/run.log" &&
        jq -ec --arg case "$1" --arg variant "$2" '{$case, $variant, metrics: .}' \
            "$tmp/run.json" >>"$samples" 2>>"$tmp/run.log"; then
        rm -f -- "$name"*
        return
    fi
    rm -f -- "$name"*
    bench_failed "$1" "$2" "no number: $(tail -n 5 "$tmp/run.log")"
}

# turns CASE RANKS MODE SIZE COUNT
turns() {
    local i

    for ((i = 1; i <= opt[repeats]; i++)); do
        bench_progress "$1, repetition $i"
        sample "$1" 'ufs:' ufs '' "${@:2}"
        sample "$1" 'zcache: embedded' zcache "$plugin" "${@:2}"
        [[ $3 != reopen ]] || SMALL_HINTS=zcache_read_around=false \
            sample "$1" 'zcache: by the owner' zcache "$plugin" "${@:2}"
        [[ ! $with_daemon ]] || sample "$1" 'zcache: 1 daemon' zcache "$plugin" "${@:2}"
    done
    bench_progress
}

with_daemon=
for n in "${counts[@]}"; do
    for size in "${sizes[@]}"; do
        wanted records || break
        bytes=$(numfmt --from=iec "$size")
        turns "$size, $n ranks" "$n" records "$bytes" \
            $((bytes < 65536 ? opt[count] : opt[count] / 10))
    done
    if wanted shared; then turns "shared pointer, $n ranks" "$n" shared 4 $((opt[count] / 4)); fi
    if wanted opens; then turns "open and close, $n ranks" "$n" opens 1 $((opt[count] / 40)); fi
done

if wanted files || wanted held || wanted reopen; then
    with_daemon=1
    start_daemon 0 --root "$memory"
    for n in "${counts[@]}"; do
        if wanted files; then
            turns "create, write, close, $n ranks" "$n" files 512 $((opt[count] / 4))
        fi
        if wanted held; then turns "held open, $n ranks" "$n" held 1 $((opt[count] / 13)); fi
        if wanted reopen; then turns "4K reopened, $n ranks" "$n" reopen 4096 "${opt[count]}"; fi
    done
    stop_daemon 0 || bench_problem "the daemon did not drain: $(tail -n 3 "$tmp/0.log")"
fi

bench_results store=tmpfs work="small independent accesses"
echo "small independent accesses, on tmpfs, every byte read compared"
echo "layout: $(bench_layout)"
echo "microseconds an access, median (lowest-highest) of ${opt[repeats]} repetitions in turn"
echo "time: as the slowest rank sees it; processor: of all ranks and their threads, for each access"
bench_table '|write|processor|read|processor|open, close|processor' '
    .cases[] | [.case], (.variants[] | .metrics as $m
        | ["  " + .variant]
          + ([["write_us", "write_cpu_us"], ["read_us", "read_cpu_us"], ["open_us", "open_cpu_us"]]
             | add | map($m[.] | if . then s(2) else "" end)))'
echo "how many times as fast as ufs:"
bench_table '|write|processor|read|processor|open, close|processor' '
    .cases[] as $c | $c.variants[0] as $u | [$c.case], ($c.variants[1:][] as $v
        | ["  " + $v.variant] + (["write_us", "write_cpu_us", "read_us", "read_cpu_us", "open_us",
            "open_cpu_us"] | map([$u.metrics[.].median, $v.metrics[.].median]
                | if .[0] and .[1] then (.[0] / .[1] | n(2)) else "" end)))'
bench_end
