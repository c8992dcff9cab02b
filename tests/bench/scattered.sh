#!/usr/bin/env bash
# scattered.sh - scattered data of real applications, beside ROMIO's best hints.
#
#     scattered.sh [--quick] [--cases NAMES] [--repeats N] [--json FILE] [option ...]
#
# Each case runs with several sets of ROMIO's hints, of which the best one counts, with an exchange
# by hand (simpario --access exchange), with OMPIO where Open MPI is installed, and with zcache,
# embedded and with one daemon, in turn.  All bytes are verified; what the slow store received is
# counted exactly.  The cases, each with what zcache is to reach (x: as fast as ROMIO's best; of
# the size of the file):
#
#     f, i            E3SM's maps F and I, 16 ranks: 1.3 x; written 1.1, read 0.1
#     g, blob, flash  its map G; contiguous parts; checkpoints of several variables: 1 x
#     blocks          a matrix in blocks along both dimensions, 8 ranks: 1.3 x; twice the requests
#     f-compute, i-compute
#                     computing as long as the store needs: I/O as the ranks see it 10 x, with
#                     close 1.5 x; written and read as above
#     lattice-memory  bricks of a 4-D array, on tmpfs: 2 x
#     parts-memory    as many bytes there in contiguous parts, which no rank has to exchange: what
#                     the machine allows for the former
#     lattice-compute the same on the slow store, computing as long as it needs: I/O seen 6 x
#     lattice-read    its fields are read with computing between them: 80 % of the store's time
#                     hidden, each byte read once
#
#     --rate RATE     200M, of the store    --op-us N  50       --latency-us N  200
#     --cache-size SIZE  of zcache's ranks (the default hint)
#     --shrink N      1: the files are so many times smaller
#     --timeout SECONDS  120, for one run   --page FILE  writes a page in Markdown, too
set -u
# shellcheck source=tests/bench/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"
# shellcheck source=tests/bench/openmpi.sh
. "$bench_dir/openmpi.sh"
known=(f i g blob flash blocks f-compute i-compute lattice-memory parts-memory lattice-compute
    lattice-read)
opt+=([cases]=${known[*]} [rate]=200M [op-us]=50 [latency-us]=200 [cache-size]= [shrink]=1 [page]=)
quick+=([shrink]=8 [repeats]=1)
kinds[rate]=rate kinds[cache-size]=size kinds[cases]=names
bench_options "$@"
for name in ${opt[cases]}; do
    [[ " ${known[*]} " == *" $name "* ]] ||
        bench_misuse "--cases $name: not one of ${known[*]}"
done
own=${opt[cache-size]:+zcache_cache_size=${opt[cache-size]}}

two='romio_cb_write=enable cb_config_list=*:2 cb_nodes=2'
four='romio_cb_write=enable cb_config_list=*:4 cb_nodes=4'
variants=(
    'ufs: default hints                 | ufs    |   |'
    'ufs: romio_cb_write=enable         | ufs    |   | romio_cb_write=enable romio_cb_read=enable'
    'ufs: two-phase, no sieving         | ufs    |   | romio_cb_write=enable romio_ds_write=disable'
    "ufs: two-phase, 2 aggregators      | ufs    |   | $two"
    "ufs: two-phase, 4 aggregators      | ufs    |   | $four"
    "ufs: two-phase, 4 and 64 MiB       | ufs    |   | $four cb_buffer_size=67108864"
    "by hand: exchange                  | ufs    |   |       | --access exchange"
    "zcache: embedded                   | zcache |   | $own"
    "zcache: one daemon                 | zcache | 0 | $own"
)

# What simpario is told in each case: ranks | bytes of a rank in a phase | phases | the rest; 12
# doubles a site.
declare -A cases=(
    [f]='16|768K|3|--pattern climate --map f'
    [i]='16|7552K|3|--pattern climate --map i'
    [g]='16|512K|1|--pattern climate --map g'
    [blob]='16|2304K|1|--pattern contiguous'
    [flash]='16|64K|24|--pattern checkpoint --files 1 --parts 4'
    [blocks]='8|18M|1|--pattern blocks'
    [f-compute]='16|768K|3|--pattern climate --map f'
    [i-compute]='16|7552K|3|--pattern climate --map i'
    [lattice-memory]='8|1536K|12|--pattern lattice --piece 96'
    [parts-memory]='8|1536K|12|--pattern contiguous'
    [lattice-compute]='8|1536K|12|--pattern lattice --piece 96'
    [lattice-read]='8|1536K|12|--pattern lattice --piece 96'
)
# [metric, least, most]: least or most is null.  Metrics: see below.
goals='{
    "f": [["x_total", 1.3, null], ["written", null, 1.1], ["read", null, 0.1]],
    "g": [["x_total", 1, null]],
    "blocks": [["x_total", 1.3, null], ["x_requests", null, 2]],
    "f-compute": [["x_io", 10, null], ["x_io_close", 1.5, null], ["written", null, 1.1],
                  ["read", null, 0.1]],
    "lattice-memory": [["x_total", 2, null]],
    "parts-memory": [],
    "lattice-compute": [["x_io", 6, null]],
    "lattice-read": [["hidden", 0.8, null], ["read", null, 1]]
} | .i = .f | .blob = .g | .flash = .g | ."i-compute" = ."f-compute"'

# ---- running --------------------------------------------------------------------------------
# case_options NAME: n, and options of simpario in case_args.
case_options() {
    local record phases rest

    IFS='|' read -r n record phases rest <<<"${cases[$1]}"
    record=$(($(numfmt --from=iec "$record") / opt[shrink]))
    read -ra case_args <<<"--phases $phases --record $record $rest"
    if [[ $1 == *-compute || $1 == *-read ]]; then
        case_args+=(--compute-by "$(bench_compute_by "$n")" --compute
            "$(awk -v bytes=$((record * n)) -v rate="$(numfmt --from=si "${opt[rate]}")" \
                'BEGIN { print bytes / rate }')")
    fi
}

# read_sample CASE VARIANT BEFORE AFTER: of the report of a run that reads.
read_sample() {
    jq -ec --arg case "$1" --arg variant "$2" --argjson before "$3" --argjson after "$4" '
        select(.verification.result == "passed" and .verification.mpi_bytes == .file_bytes)
        | .repeats[0].read as $r | (.file_bytes / $before.read_rate) as $store
        | {$case, $variant, ranks, bytes: .file_bytes, hints: .options.hints, metrics: {
            total_s: $r.total_seconds, io_s: $r.io_seconds, io_close_s: $r.io_close_seconds,
            hidden: (1 - $r.io_seconds / $store),
            store_mb: (($after.write.bytes - $before.write.bytes) / 1e6),
            store_requests: 0,
            store_read_mb: (($after.read.bytes - $before.read.bytes) / 1e6),
            store_read_requests: ($after.read.requests - $before.read.requests)}}' \
        "$tmp/run.json" >>"$samples"
}

# read_run VARIANT: the case lattice-read once, with cold caches.
read_run() {
    local label type daemon program preload prefix mpi extra status before

    bench_variant "$1"
    before=$(<"$slow/.slowfs")
    bench_read "$slow/lattice" "$n" "${case_args[@]}"
    status=$?
    ((status == 0)) && read_sample lattice-read "$label" "$before" "$(<"$slow/.slowfs")" && return
    bench_failed lattice-read "$label" "status $status: $(tail -n 5 "$tmp/run.log")"
}

read_turns() {
    local i variant

    ranks "$n" '' "$simpario" -f "ufs:$memory/slow/lattice" --write --keep --quiet \
        --no-reference "${case_args[@]}" --compute 0 >"$tmp/run.log" 2>&1 ||
        fail "no file to read: $(tail -n 5 "$tmp/run.log")"
    for ((i = 1; i <= opt[repeats]; i++)); do
        for variant in "${variants[@]}"; do read_run "$variant"; done
    done
    rm -f -- "$memory/slow/lattice"
}

bench_start 16
if openmpi_build; then
    variants=("${variants[@]::${#variants[@]}-2}" 'OMPIO: Open MPI as it is | ompio | |'
        "${variants[@]: -2}")
else
    echo "scattered.sh: OMPIO is left out: $openmpi_obstacle" >&2
fi
bench_memory
bench_slowfs --write-rate "${opt[rate]}" --read-rate "${opt[rate]}" --op-us "${opt[op-us]}" \
    --latency-us "${opt[latency-us]}"
start_daemon 0 --root "$slow"
start_daemon 1 --root "$memory"
for name in ${opt[cases]}; do
    case_options "$name"
    case $name in
    lattice-read) read_turns ;;
    *-memory)
        slow_variants=("${variants[@]}")
        variants[-1]="zcache: one daemon | zcache | 1 | $own"
        bench_turns "$name" "$memory" "$memory" "$n" "${case_args[@]}"
        variants=("${slow_variants[@]}")
        ;;
    *) bench_turns "$name" "$slow" "$memory/slow" "$n" "${case_args[@]}" ;;
    esac
done
for i in 0 1; do
    stop_daemon "$i" || bench_problem "daemon $i did not drain: $(tail -n 3 "$tmp/$i.log")"
done
slowfs_unmount "$slow" || bench_problem "slowfs ended with status $?"

# ---- results --------------------------------------------------------------------------------
store="slowfs, ${opt[rate]} bytes/s, ${opt[op-us]} us per request, ${opt[latency-us]} us round trip"
load=$(cut -d' ' -f1 /proc/loadavg)
bench_results store="$store" load="$load"
# Of each variant of zcache's: how many times as fast as the best of ROMIO's; bytes of the store as
# parts of the file; and what misses its goal.  A median of several is compared with medians.  No
# program is faster than the store, where nothing is computed and all of the file goes there; nor,
# in memory, than ranks that exchange nothing.
bench_add "($goals) as \$goals | $(numfmt --from=si "${opt[rate]}") as \$rate"'
    | def best(f): map(select(.variant | startswith("ufs:")) | f // empty) | min;
      def requests: .metrics | .store_requests.median + .store_read_requests.median;
    ([.cases[] | select(.case == "parts-memory") | .variants | best(.metrics.total_s.median)][0])
        as $parts
    | .cases[] |= (.case as $case | .variants as $all
    | ($all | best(.metrics.total_s.median)) as $total
    | ($all | best(.metrics.io_s.median)) as $io
    | ($all | best(.metrics.io_close_s.median)) as $io_close
    | ([$all[] | select(.metrics.total_s.median == $total)][0]) as $fastest
    | (if $case == "lattice-memory" then $parts | if . then $total / . else null end
       elif $rate > 0 and ($case | test("-") | not) then $total * $rate / $fastest.bytes
       else null end) as $most
    | .x_most = $most
    | .variants |= map(if (.metrics | length) == 0 then . else
        .beside = ((.metrics | {x_total: ($total / .total_s.median), x_io: ($io / .io_s.median),
            x_io_close: ($io_close / .io_close_s.median)}
            + if .hidden then {hidden: .hidden.median} else {} end)
          + if .metrics.store_mb then {
                written: (.metrics.store_mb.median * 1e6 / .bytes),
                read: (.metrics.store_read_mb.median * 1e6 / .bytes),
                x_requests: (requests / ([$fastest | requests, 1] | max))} else {} end)
        | if .variant | startswith("zcache:") then
            .missed = [.beside as $b | $goals[$case][]
                | select(.[1] != null and $b[.[0]] < .[1] or .[2] != null and $b[.[0]] > .[2])
                | .[0] + " " + (.[1] // .[2] | tostring)
                  + if .[0] == "x_total" and $most and $most < .[1] then
                        " (\(if $case | test("memory") then "contiguous parts allow" else "the store allows" end
                           ) \($most * 100 | floor / 100))" else "" end]
          else . end
      end))'
echo "store: $store; a load of $load"
echo "layout: $(bench_layout)"
echo "median (lowest-highest) of ${opt[repeats]} repetitions in turn, verified; seconds"
columns='|open to close|x best ROMIO|I/O seen|x|with close|x|written|read|requests|hidden|missed'
bench_table "$columns" '
    .cases[] | ["\(.case), \((.variants[0].bytes // 0) / 1e6 | round) MB"],
    (.variants[] | .metrics as $m | (.beside // {}) as $b
        | ["  " + .variant, ($m.total_s | s(2)), ($b.x_total | n(2)), ($m.io_s | m(3)),
           ($b.x_io | n(2)), ($m.io_close_s | m(2)), ($b.x_io_close | n(2)),
           ($b.written // null | n(2)), ($b.read // null | n(2)),
           if $m.store_requests then
               "\($m.store_requests.median) + \($m.store_read_requests.median)" else "-" end,
           ($b.hidden // null | n(2)), ((.missed // []) | join(", "))])'

# ---- the page -------------------------------------------------------------------------------
page() {
    cat <<END
# Scattered data

What SimParIO's patterns of real applications take from open to close, beside the best of
$(printf '%s\n' "${variants[@]}" | grep -c '^ufs:') sets of ROMIO's hints, and what the store is
asked for. Besides zcache there is an exchange by hand: the ranks pass each other their data by
MPI_Alltoallv, and each writes, or reads, one contiguous part of a phase.
$(if [[ -z $openmpi_obstacle ]]; then echo "OMPIO is that of Open MPI."; else
    echo "OMPIO is missing: $openmpi_obstacle."; fi)
All bytes were verified; medians of ${opt[repeats]}, in turn, and behind them the lowest and
highest. What zcache is to reach stands behind each case: x is times as fast as ROMIO's best;
written and read are parts of the file. Where nothing is computed no program can be faster than the
store takes the file, or in memory than ranks that exchange nothing (parts-memory): that is so many
x of ROMIO's best as stands in brackets behind its time.

Measured on $(date -u +%Y-%m-%d) at a load of $load, $(bench_layout).
The store: $store.
END
    if awk -v load="$load" -v cores="$cores" 'BEGIN { exit load <= cores }'; then
        cat <<END

**The machine was busy with other work**: times are what that left, and ratios of times lean on the
processor; counts of bytes and requests do not.
END
    fi
    cat <<END

\`make bench-scattered\` measures this again; \`tests/bench/scattered.sh --help\` tells of the
cases.

| case | to reach | ROMIO | beside it | open to close, x | I/O seen, x | with close, x |
|---|---|---|---|---|---|---|
END
    jq -L "$bench_dir" -r --argjson goals "$(jq -n "$goals")" 'include "bench"; .cases[] as $c
        | $c.variants as $all
        | ([$all[] | select(.variant | startswith("ufs:")) | .metrics.total_s.median // empty]
           | min) as $best
        | ($goals[$c.case] | map("\(.[0] | ltrimstr("x_")) \(.[1] // .[2])") | join(", ")) as $goal
        | $all[] | select(.variant | startswith("ufs:") | not) | (.beside // {}) as $b
        | "| \($c.case), \(.bytes / 1e6 | round) MB | \($goal) | \($best | n(2)) s" +
          (if $c.x_most then " (\($c.x_most * 100 | floor / 100) x)" else "" end) + " | " +
          "\(.variant): \(.metrics.total_s | s(2)) s | \($b.x_total | n(2)) | " +
          "\($b.x_io | n(2)) | \($b.x_io_close | n(2)) |"' <<<"$results"
    cat <<END

| case | zcache | written | read | requests | of ROMIO's best | hidden | not reached |
|---|---|---|---|---|---|---|---|
END
    jq -L "$bench_dir" -r 'include "bench"; .cases[] as $c | $c.variants[]
        | select(.variant | startswith("zcache:")) | (.beside // {}) as $b | .metrics as $m
        | "| \($c.case) | \(.variant[8:]) | \($b.written | n(2)) | \($b.read | n(2)) | " +
          (if $m.store_requests then
               "\($m.store_requests | m(0)) + \($m.store_read_requests | m(0))" else "-" end) +
          " | \($b.x_requests | n(2)) | \($b.hidden | n(2)) | " +
          "\((.missed // []) | map(ltrimstr("x_")) | join(", ")) |"' <<<"$results"
}
if [[ -n ${opt[page]} ]]; then page >"${opt[page]}" || bench_problem "no page"; fi
bench_end
