#!/usr/bin/env bash
# scattered.sh - scattered data of real applications, beside ROMIO's best hints.
#
#     scattered.sh [--quick] [--cases NAMES] [--repeats N] [--json FILE] [option ...]
#
# Each case runs with several sets of ROMIO's hints, of which the best one counts, with an exchange
# by hand (simpario --access exchange), with OMPIO where Open MPI is installed, and with zcache,
# embedded and with one daemon, in turn.  All bytes are verified; what the slow store received is
# counted exactly.  The cases, each with what zcache is to reach (x: as fast as ROMIO's best; of
# the size of the file, at most):
#
#     f, i            E3SM's maps F and I, 16 ranks: 1.3 x; written 1.1, read 0.1
#     g, blob, flash  its map G; contiguous parts; checkpoints of several variables: 1 x
#     blocks          a matrix in blocks along both dimensions, 8 ranks: 1.3 x; at most twice
#                     ROMIO's requests
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
#     --settle SECONDS   120 (quick 1), at most, until the load of a build has worn off
#     --timeout SECONDS  120, for one run   --page FILE  writes a page in Markdown, too
set -u
# shellcheck source=tests/bench/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"
# shellcheck source=tests/bench/openmpi.sh
. "$bench_dir/openmpi.sh"
known=(f i g blob flash blocks f-compute i-compute lattice-memory parts-memory lattice-compute
    lattice-read)
opt+=([cases]=${known[*]} [rate]=200M [op-us]=50 [latency-us]=200 [cache-size]= [shrink]=1 [page]=
    [settle]=120)
quick+=([shrink]=8 [repeats]=1 [settle]=1)
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
bench_await_quiet
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
    | (if ($total | not) then null
       elif $case == "lattice-memory" then $parts | if . then $total / . else null end
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
# of_cases JQ: lines that JQ makes of each case: $c; v(NAME) is the variant whose name begins so.
of_cases() {
    jq -L "$bench_dir" -r --argjson goals "$(jq -n "$goals")" 'include "bench"; .cases[] as $c
        | def v(name): [$c.variants[] | select(.variant | startswith(name))][0];
          def romio(m): [$c.variants[] | select(.variant | startswith("ufs:")) | .metrics
              | m // empty | .median] | min;
          def fastest: [$c.variants[] | select(.variant | startswith("ufs:"))
              | select(.metrics.total_s.median == romio(.total_s))][0];
          def x(n): if n then ", \(n | n(2)) x" else "" end;
          '"$1" <<<"$results"
}

page() {
    cat <<END
# Scattered data

SimParIO writes, or reads, data as real applications distribute it over their ranks: the maps F, I
and G of the climate model E3SM, and what its blob format writes; FLASH's checkpoints of many
variables; a matrix in blocks; bricks of a four-dimensional lattice.

- ROMIO is the best of $(printf '%s\n' "${variants[@]}" | grep -c '^ufs:') sets of hints, chosen
  for each figure; \`tests/bench/scattered.sh\` has them.
- By hand: the ranks pass each other their data by MPI_Alltoallv, and each writes, or reads, one
  contiguous part of a phase.
- $(if [[ -z $openmpi_obstacle ]]; then echo "OMPIO is Open MPI's own, with its defaults; its other figures are those of another MPI library.";
    else echo "OMPIO is missing: $openmpi_obstacle."; fi)
- zcache has its defaults, but for the place of its caches: in the ranks (embedded), or there and in
  one daemon. All processes are on one host.

All bytes were verified. Times are seconds: medians of ${opt[repeats]} repetitions, all variants in
turn, and of the whole in brackets the lowest and highest. x: times as fast as ROMIO.

Measured on $(date -u +%Y-%m-%d), $(bench_layout); a load of $load before it.
$(LC_ALL=C awk -v load="$load" -v cores="$cores" 'BEGIN {
    if (load > cores / 2) print "The machine had other work: times say little, counts are exact." }')
The store: $store.

\`make bench-scattered\` measures this again; \`tests/bench/scattered.sh --help\` has the cases.

## From open to close

No program can be faster than the limit: the time in which the store takes the file, or in memory
the time of ROMIO for contiguous parts of the same size (parts-memory), which no rank has to pass to
another.

| case | ranks | MB | limit | ROMIO | by hand | OMPIO | zcache embedded | with a daemon |
|---|---|---|---|---|---|---|---|---|
END
    of_cases 'romio(.total_s) as $t | def t(name): v(name) as $v | $v.metrics.total_s
        | if . then s(3) + x($v.beside.x_total) else "-" end;
        "| \($c.case) | \(fastest.ranks) | \(fastest.bytes / 1e6 | round) | " +
        "\(if $c.x_most then $t / $c.x_most | n(3) else "-" end) | \($t | n(3)) | " +
        "\(t("by hand")) | \(t("OMPIO")) | \(t("zcache: emb")) | \(t("zcache: one")) |"'
    cat <<END

## As the program sees it

The time in which the slowest rank is within MPI-IO's calls, without and with the last close, which
waits until all is in the store's file. With computing (-compute, -read) the ranks compute as long
as the store needs for a phase. Hidden: the part of the store's time that no rank waited for.

| case | I/O: ROMIO | embedded | a daemon | with close: ROMIO | embedded | a daemon | hidden |
|---|---|---|---|---|---|---|---|
END
    of_cases 'def t(name; m; b): v(name) as $v | $v.metrics | m
        | if . then (.median | n(3)) + x($v.beside | b) else "-" end;
        def hidden(name): v(name).beside.hidden | n(2);
        "| \($c.case) | \(romio(.io_s) | n(3)) | \(t("zcache: emb"; .io_s; .x_io)) | " +
        "\(t("zcache: one"; .io_s; .x_io)) | \(romio(.io_close_s) | n(3)) | " +
        "\(t("zcache: emb"; .io_close_s; .x_io_close)) | " +
        "\(t("zcache: one"; .io_close_s; .x_io_close)) | " +
        "\(if v("zcache: emb").beside.hidden then "\(hidden("zcache: emb")), \(hidden("zcache: one"))"
           else "-" end) |"'
    cat <<END

## What the store was asked for

Bytes written and read, as parts of the file's size, and requests: writes + reads. ROMIO is the set
of hints with the shortest time from open to close.

| case | ROMIO | | zcache embedded | | with a daemon | |
|---|---|---|---|---|---|---|
| | bytes | requests | bytes | requests | bytes | requests |
END
    of_cases 'def traffic: .metrics as $m | .bytes as $size
        | "\($m.store_mb.median * 1e6 / $size | n(2)) + \($m.store_read_mb.median * 1e6 / $size | n(2)) | " +
          "\($m.store_requests | m(0)) + \($m.store_read_requests | m(0))";
        select(fastest.metrics.store_requests)
        | "| \($c.case) | \(fastest | traffic) | \(v("zcache: emb") | traffic) | " +
          "\(v("zcache: one") | traffic) |"'
    cat <<END

## Goals

x: at least so many times as fast as ROMIO; others are upper limits, but for hidden.

| case | to reach | not reached: embedded | with a daemon |
|---|---|---|---|
END
    of_cases 'def named: {x_total: "open to close, x", x_io: "I/O, x", x_io_close: "with close, x",
            x_requests: "requests, of ROMIO\u0027s", written: "written", read: "read",
            hidden: "hidden"}[.];
        def missed(name): (v(name).missed // []) | map(split(" ") | (.[0] | named) + " "
            + (.[1:] | join(" "))) | if length > 0 then join("; ") else "-" end;
        select($goals[$c.case] | length > 0)
        | "| \($c.case) | \($goals[$c.case] | map("\(.[0] | named) \(.[1] // .[2])") | join("; ")) | " +
          "\(missed("zcache: emb")) | \(missed("zcache: one")) |"'
}
if [[ -n ${opt[page]} ]]; then page >"${opt[page]}" || bench_problem "no page"; fi
bench_end
