#!/usr/bin/env bash
# seeds.sh - the headline results of the papers that zcache stands on, each beside a counterpart.
#
#     seeds.sh [--quick] [--cases NAMES] [--repeats N] [--json FILE] [option ...]
#
# Throughput as the ranks see it (their writes alone), and until all is in the file (with the
# close), beside what a user has without zcache, in turn; all bytes are verified.  The cases, and
# what each is to reach:
#
#     burst       phases of more than the ranks may cache, 8M each, then computing: the I/O node is
#                 needed (multiple-level staging)
#     steady      phases that ranks can cache: it is not
#     prefetch    reading with computing between, by number of aggregators (multiple-level staging)
#     arrays      one rank writes ten arrays of floats, computing between them: seen 2.5 times
#                 direct writing (PAIO)
#     daemons     the same without computing, by number of daemons that have a store each: two are
#                 1.7, three 2.3 times one (PAIO); needs root, for mounts of their own
#     memory      half of a daemon's cache to four times of it: no cliff (PAIO)
#     checkpoint  a solver's, one file, several or one of each rank, collective and independent:
#                 seen 0.37 of what memory takes, stored 0.85 of what the store can (syncIO, rbIO)
#     pio         irregular decompositions on 4 and 16 ranks (PIO)
#     decomposed  the same by one filetype, PnetCDF and netCDF-4, on 4 to 64 ranks, beside two-phase
#                 on parts that ranks have rearranged before (PIO)
#     formats     serial and parallel formats with some I/O tasks: the paper's table (PIO)
#     owners      peak memory of an owner of blocks with 1 and 64 clients: the same (PIO)
#     btio        BTIO in the four variants of the paper, its time split into file access, network
#                 and what of both computing hides (multiple-level staging)
#     restart     checkpoints of 8 ranks read back on 4 and on 16 (syncIO and rbIO)
#     permute     4-D arrays in all 24 orders of dimensions in memory, ragged blocks, external32 and
#                 a representation of the program: 0.8 of what is seen without, or what a copy in
#                 the program reaches (PDS/PIO)
#     mesh        an unstructured grid by node and element maps (PXI)
#     climate     history and restart files through PnetCDF by all ranks, beside one that gathers
#                 and writes alone: 10 times as fast as seen (PDS/PIO); where PnetCDF is there
#
#     --rate RATE     200M, of the store    --op-us N  50       --latency-us N  200
#     --shrink N      1: the files are so many times smaller
#     --timeout SECONDS  120, for one run   --budget SECONDS  560: cases that begin later run once
#     --page FILE     writes a page in Markdown, too, and figures beside it where there is python3
set -u
# shellcheck source=tests/bench/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"
# shellcheck source=tests/bench/openmpi.sh
. "$bench_dir/openmpi.sh"
# shellcheck source=tests/bench/seeds_cases.sh
. "$bench_dir/seeds_cases.sh"
# shellcheck source=tests/bench/seeds_iotasks.sh
. "$bench_dir/seeds_iotasks.sh"
known=(burst steady btio prefetch arrays daemons memory checkpoint restart pio decomposed formats
    owners permute mesh climate)
opt+=([cases]=${known[*]} [rate]=200M [op-us]=50 [latency-us]=200 [shrink]=1
    [repeats]=3 [budget]=560 [page]=)
quick+=([shrink]=8 [repeats]=1)
kinds[rate]=rate kinds[cases]=names
bench_options "$@"
for name in ${opt[cases]}; do
    [[ " ${known[*]} " == *" $name "* ]] ||
        bench_misuse "--cases $name: not one of ${known[*]}"
done
rate=$(numfmt --from=si "${opt[rate]}")
two='romio_cb_write=enable cb_config_list=*:2 cb_nodes=2'

# ---- what is run ----------------------------------------------------------------------------
direct=('ufs: default hints | ufs | |' "ufs: two-phase | ufs | | $two")
both=("${direct[@]}" 'zcache: embedded | zcache | |' 'zcache: one daemon | zcache | 0 |')

# levels HINT ...: the levels that write back, each with these hints.
levels() {
    variants=("${direct[@]}" "zcache: no write-back | zcache | 0 | zcache_write_back=none $*"
        "zcache: ranks only | zcache | 0 | zcache_write_back=aggregator $*"
        "zcache: daemon only | zcache | 0 | zcache_write_back=daemon $*"
        "zcache: both levels | zcache | 0 | $*" "zcache: embedded | zcache | | $*")
}

# made_library NAME: the directory where tests/docs/library has made it last; fails if it has not.
made_library() {
    local made base=${ZCACHE_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/zcache}/libraries

    # shellcheck disable=SC2012 # by time
    made=$(ls -dt "$base/$1"_*/made 2>/dev/null | head -n 1)
    [[ $made ]] && echo "${made%/made}"
}

# scaled SIZE: bytes, divided by --shrink.
scaled() { echo $(($(numfmt --from=iec "$1") / opt[shrink])); }

# computing RANKS BYTES: options for computing as long as the store needs for so many bytes.
computing() {
    echo "--compute-by $(bench_compute_by "$1") --compute" \
        "$(awk -v bytes="$2" -v rate="$rate" 'BEGIN { print bytes / rate }')"
}

# turns CASE RANKS OPTION ...: all variants in turn, on the slow store.
turns() {
    local i variant

    for ((i = 1; i <= repeats; i++)); do
        for variant in "${variants[@]}"; do
            bench_progress "$1, repetition $i: ${variant%%|*}"
            dedicated "$variant" bench_run "$1" "$variant" "$slow" "$memory/slow" "${@:2}"
        done
    done
    bench_progress
}

case_burst() {
    local record compute

    record=$(scaled 16M)
    levels "zcache_cache_size=$(scaled 8M)"
    read -ra compute <<<"$(computing 8 $((8 * record)))"
    turns "$1" 8 --phases 4 --record "$record" "${compute[@]}"
}

case_steady() {
    local record compute

    record=$(scaled 1M)
    levels
    read -ra compute <<<"$(computing 8 $((8 * record)))"
    turns "$1" 8 --phases 10 --record "$record" "${compute[@]}"
}

case_arrays() {
    local compute

    variants=("${both[@]}")
    read -ra compute <<<"$(computing 4 $((360 * 180 * 35 * 4)))"
    turns "$1" 4 --pattern arrays "${compute[@]}"
}

# Each daemon sees a store of its own where the others see theirs.
case_daemons() {
    local i list=

    ((EUID == 0)) || { bench_problem "daemons: needs root, to mount stores"; return; }
    variants=("${direct[0]}")
    for i in 1 2 3; do
        mkdir -p "$tmp/store$i"
        slowfs_mount "$memory/slow" "$tmp/store$i" "${slow_options[@]}" ||
            fail "slowfs: $(<"$tmp/slowfs.log")"
        WRAP="unshare --mount $tmp/within $tmp/store$i $slow" start_daemon "1$i" --root "$slow"
        list+=${list:+.addr,$tmp/}1$i # in the table .addr is added to the last
        variants+=("zcache: $i of them | zcache | $list | ")
    done
    turns "$1" 4 --pattern arrays --array 720x180x35
    for i in 1 2 3; do
        stop_daemon "1$i" || bench_problem "daemon $i did not drain"
        slowfs_unmount "$tmp/store$i" || bench_problem "slowfs ended with status $?"
    done
}

case_memory() {
    local times record

    variants=("${direct[0]}" 'zcache: one daemon | zcache | 2 |')
    record=$(scaled 2M) # half of a cache of 64M in 4 phases of 4 ranks
    start_daemon 2 --root "$slow" --cache-size "$(scaled 64M)" \
        --page-size "$(scaled 512K)"
    for times in 1 2 4 8; do
        turns "$1: $(awk -v n="$times" 'BEGIN { print n / 2 }') of the cache" 4 \
            --phases $((4 * times)) --record "$record"
    done
    stop_daemon 2 || bench_problem "the daemon did not drain"
}

case_checkpoint() {
    local files access record compute

    record=$(scaled 2M)
    read -ra compute <<<"$(computing 8 $((8 * record)))"
    for files in 1 2 8; do
        for access in collective independent; do
            [[ $files-$access != 2-independent ]] || continue
            variants=("${both[@]}" "$(dedicated_variant)")
            turns "$1: $files files, $access" 8 --pattern checkpoint --phases 4 --record "$record" \
                --files "$files" --access "$access" "${compute[@]}"
            variants=('ufs: in memory | ufs | |')
            bench_turns "$1: $files files, $access" "$memory" "$memory" 8 --pattern checkpoint \
                --phases 4 --record "$record" --files "$files" --access "$access"
        done
    done
}

case_pio() {
    local n record

    variants=("${both[@]}")
    record=$(scaled 8M)
    for n in 4 16; do
        turns "$1: $n ranks" "$n" --pattern climate --map f --phases 1 --record "$record"
    done
}

# ---- running --------------------------------------------------------------------------------
bench_start 16
openmpi_unpacked=$build/mpis/openmpi # by tests/mpis/fetch-flavours
if openmpi_build; then
    both+=('OMPIO: Open MPI as it is | ompio | |')
else
    echo "seeds.sh: OMPIO is left out: $openmpi_obstacle" >&2
fi
bench_memory
slow_options=(--write-rate "${opt[rate]}" --read-rate "${opt[rate]}" --op-us "${opt[op-us]}"
    --latency-us "${opt[latency-us]}")
bench_slowfs "${slow_options[@]}"
cat >"$tmp/within" <<'END'
#!/bin/sh
mount --bind "$1" "$2" && shift 2 && exec "$@"
END
chmod +x "$tmp/within"
start_daemon 0 --root "$slow"
once= # cases that ran once, as it was late
for name in ${opt[cases]}; do
    repeats=${opt[repeats]}
    if ((SECONDS >= opt[budget] && repeats > 1)); then
        repeats=1
        once+=" $name"
    fi
    "case_$name" "$name"
done
stop_daemon 0 || bench_problem "the daemon did not drain: $(tail -n 3 "$tmp/0.log")"
slowfs_unmount "$slow" || bench_problem "slowfs ended with status $?"

# ---- results --------------------------------------------------------------------------------
store="slowfs, ${opt[rate]} bytes/s, ${opt[op-us]} us per request, ${opt[latency-us]} us round trip"
load=$(cut -d' ' -f1 /proc/loadavg)
bench_results store="$store" load="$load"
# Of each variant: MB/s as seen and until stored; how many times as fast as the best of what a user
# has without zcache; until stored, as a part of what the store can, where nothing is computed or
# computing takes no longer than the store.
bench_add '"ufs: in memory" as $memory
    | def direct: select((startswith("ufs:") or startswith("OMPIO:") or . == "two-phase (TP)")
        and . != $memory);
    .cases[] |= (.variants as $all
    | def top(f): [$all[] | select(.variant | direct) | f // empty] | max;
    top(.metrics.write_mb_s.median // .metrics.seen_mb_s.median) as $seen
    | top(.metrics.write_close_mb_s.median) as $stored
    | ([$all[] | select(.variant == $memory) | .metrics.write_mb_s.median][0]) as $limit
    | ([$all[] | select(.variant == "zcache: 1 of them") | .metrics.write_close_mb_s.median][0])
      as $one
    | def in_order: sub(", (permuted.*|as in the file)$"; ", as in the file");
    .variants |= map(if (.metrics | length) == 0 then . else
        (.metrics.write_mb_s // .metrics.seen_mb_s) as $s | .metrics.write_close_mb_s as $c
        | .beside = {x_seen: (if $seen then $s.median / $seen else null end),
            x_stored: (if $stored and $c then $c.median / $stored else null end),
            of_order: ((.variant | in_order) as $same
                | [$all[] | select(.variant == $same) | .metrics.write_mb_s.median][0]
                | if . and ($same | endswith(", as in the file")) then $s.median / . else null end),
            of_serial: ([$all[] | select(.variant | endswith(", serial"))
                | .metrics.write_mb_s.median][0] | if . then $s.median / . else null end),
            of_memory: (if $limit then $s.median / $limit else null end),
            of_one: (if $one and $c then $c.median / $one else null end)}
      end))'
echo "store: $store; a load of $load"
echo "layout: $(bench_layout)"
echo "median (lowest-highest) of ${opt[repeats]} repetitions in turn, verified; MB/s"
columns='|seen|x direct|until stored|x direct|of memory|of one|of order|hidden|peak MB'
bench_table "$columns" '
    .cases[] | ["\(.case), \((.variants[0].bytes // 0) / 1e6 | round) MB"],
    (.variants[] | .metrics as $m | (.beside // {}) as $b
        | ["  " + .variant, ($m.write_mb_s // $m.seen_mb_s | s(0)), ($b.x_seen | n(2)),
           (if $m.seen_mb_s then "-" else ($m.write_close_mb_s | s(0)) end), ($b.x_stored | n(2)),
           ($b.of_memory | n(2)), ($b.of_one | n(2)), ($b.of_order | n(2)),
           ($m.hidden // null | if . then m(2) else "-" end),
           ($m.peak_mb // null | if . then m(1) else "-" end)])'

# ---- the page -------------------------------------------------------------------------------
page() {
    cat <<END
# Results of the papers, and their counterparts

What the systems reported that zcache follows, and what it reaches in a model of the case on one
machine: throughput in MB/s as the ranks see it (their writes or reads alone), and until all is in
the file (with the close), beside direct writing through ROMIO; x is times the best of that. All
bytes were verified; medians of ${opt[repeats]}, in turn, and behind them the lowest and highest.
SimParIO by record and by ranks and the time of each level are on
[the page of all benchmarks](README.md). $(if [[ -z $openmpi_obstacle ]]; then
    echo "OMPIO is that of Open MPI."; else echo "OMPIO is missing: $openmpi_obstacle."; fi)
PnetCDF's burst buffer driver is among them where PnetCDF was built with it.
$([[ -z $once ]] || echo "Measured once, for want of time:$once.")

Measured on $(date -u +%Y-%m-%d) at a load of $load, $(bench_layout).
The store: $store. There are more ranks than cores: computing is sleeping then.
\`make bench-seeds\` measures this again; \`tests/bench/seeds.sh --help\` tells of the cases and of
what each is to reach.
END
    jq -L "$bench_dir" -r --argjson about "$(about)" --argjson figures "$figures" '
        include "bench";
        def head: split(":")[0];
        .cases | group_by(.case | head) | sort_by(.[0].case | head as $h | $about | map(.[0]) |
            index($h)) | .[] | (.[0].case | head) as $h
        | ($about[] | select(.[0] == $h)) as $a
        | def table:
          "| case | way | seen | x direct | until stored | x direct | \($a[3]) |",
          "| :-- | :-- | --: | --: | --: | --: | --: |",
          (.[] | .case as $case | .variants[] | .metrics as $m | (.beside // {}) as $b
            | "| \($case), \((.bytes // 0) / 1e6 | round) MB | \(.variant) | " +
              "\($m.write_mb_s // $m.seen_mb_s | s(0)) | \($b.x_seen | n(2)) | " +
              (if $m.seen_mb_s then "-" else ($m.write_close_mb_s | s(0)) end) +
              " | \($b.x_stored | n(2)) | " +
              ({"of memory": $b.of_memory, "of one daemon": $b.of_one,
                "of unpermuted": $b.of_order, "x serial": $b.of_serial, "hidden": $m.hidden.median,
                "seconds": $m.total_s.median, "peak MB": $m.peak_mb.median}[$a[3]] | n(2)) + " |");
        def split_times:
          "| way | computing | writes | close | total | file access | network | hidden |",
          "| :-- | --: | --: | --: | --: | --: | --: | --: |",
          (.[].variants[] | .metrics as $m | "| \(.variant) | \($m.compute_s | m(2)) | " +
            "\($m.io_s | s(3)) | \($m.close_s | s(3)) | \($m.total_s | s(2)) | " +
            "\($m.file_s | m(2)) | \($m.network_s | m(2)) | \($m.hidden_s | m(2)) |");
        def seen($name):
          [.[0].variants[] | select(.variant == $name) | .metrics.write_mb_s.median][0];
        def rule: (seen("zcache: ranks only")) as $one | (seen("zcache: both levels")) as $two
          | if $one and $two then
              "\nHere both levels are seen \($two / $one | n(1)) times as fast as ranks alone: " +
              "the second level is \(if $two > 2 * $one then "" else "not " end)needed."
            else empty end;
        "\n## \($a[1])\n\n\($a[2])", ($figures[$h] // empty | "\n![\($a[1])](\(.))"),
        (if $h == "burst" or $h == "steady" then rule else empty end), "",
        (if $h == "btio" then split_times else table end)' \
        <<<"$results"
}

# What stands above each table: case, title, text, last column.
about() {
    cat <<'END'
[["burst", "Multiple-level staging: a burst that ranks cannot hold",
  "Each phase writes twice what the ranks may cache. The second level, a daemon with memory, takes what the first cannot. The rule: add up what an aggregator gets in a phase; where that is more than its cache (zcache_cache_size) and what the store takes while the phase is written, and the network is faster than the store, start a daemon whose cache holds a phase.", "seconds"],
 ["steady", "Multiple-level staging: what ranks can hold",
  "Each phase fits into the ranks' caches. Then the first level alone hides as much, and a daemon is a matter of sharing files between jobs and of memory that the ranks keep.", "seconds"],
 ["btio", "Multiple-level staging: BTIO in four variants",
  "Seconds, of the slowest rank. Computing, the writes and the close are what the program waits for. File access is how long the store was busy with the file, network how long the aggregators were with sending to the daemon, hidden what of both the program did not wait for. The paper: with two levels, network and file access are almost entirely hidden.", "hidden"],
 ["prefetch", "Multiple-level staging: prefetching at the I/O node",
  "Reading in phases with computing between them, from cold caches, by number of aggregators.", "hidden"],
 ["arrays", "PAIO: one process writes arrays",
  "The paper: 2.5 times direct writing as seen by the program.", "seconds"],
 ["daemons", "PAIO: several I/O nodes",
  "Without computing, each daemon with a store of its own. The paper: two are 1.7, three 2.3 times one.", "of one daemon"],
 ["memory", "PAIO: more data than memory",
  "Without computing, up to four times the daemon's cache: what is seen approaches the store's own rate.", "seconds"],
 ["checkpoint", "syncIO and rbIO: partitioned checkpoints",
  "The paper: as seen 37 % of what memory takes; stored as fast as the store can. One file of each rank is the last pair.", "of memory"],
 ["restart", "syncIO and rbIO: checkpoints read back on another number of ranks",
  "Read from cold caches, without computing, so that the store bounds what is seen. Where there are more files than ranks each rank reads several.", "hidden"],
 ["pio", "PIO: irregular decompositions",
  "A million elements of eight bytes of each rank, dealt irregularly, without computing: the store's own time bounds what can be gained.", "seconds"],
 ["decomposed", "PIO: one filetype, PnetCDF, netCDF-4, and rearranged boxes",
  "Each rank has irregular runs of eight elements. Boxes: ranks send them to two I/O tasks first, which have a contiguous part each, as PIO does; zcache needs no such layer. netCDF-4 has no call for many runs, so it writes boxes, as PIO has it. The last column is what the memory of a rank grew by at most.", "peak MB"],
 ["formats", "PIO: serial and parallel formats, and I/O tasks",
  "The paper: parallel formats with some I/O tasks write nearly ten times as fast as a serial one, and less memory is taken than by one task that has all. Serial: the first I/O task writes for all. Growth of a rank's memory in the last column.", "peak MB"],
 ["owners", "PIO: memory of owners",
  "The paper's layer has a flow control built by hand, for what many senders do to the memory of one receiver. Here a dedicated aggregator, whose cache is a quarter of what is written; its peak memory in the last column.", "peak MB"],
 ["permute", "PDS/PIO: arrays in another order, ragged blocks, data representations",
  "A phase is a 4-D array, and each phase has the next of the 24 orders of dimensions in memory, with computing between them. MPI gets such memory as a type; the copy is the program's own, counted as writing, and bounds what can be reached where memory does. To reach: 0.8 of the speed without another order, as seen, or that of the copy. Registered: conversion functions of the program, MPI_Register_datarep, which ROMIO refuses; those of SimParIO reverse each element by itself.", "of unpermuted"],
 ["mesh", "PXI: unstructured grids",
  "Values of eight bytes at nodes, each of which may be any rank's, and at elements, in runs of 1 to 40 of a rank, many variables in a call; without computing.", "seconds"],
 ["climate", "PDS/PIO: history and restart files of a climate model",
  "Variables of floats every step and of doubles at the end, through PnetCDF, with computing between the steps. The paper: more than ten times serial netCDF, where one rank gathers all and writes alone; here that is the first line, in the same format and on the same store, by PnetCDF on that rank.", "x serial"]]
END
}
# Wraps text, and no tables, at 100 columns.
wrapped() {
    awk 'function put() { if (line != "") print line; line = "" }
        /^\|/ || length <= 100 { print; next }
        { for (i = 1; i <= NF; i++) {
              if (line != "" && length(line) + 1 + length($i) > 100) put()
              line = line == "" ? $i : line " " $i }
          put() }'
}
# Figures beside the page, of cases that have curves: {"memory": "seeds-memory.svg", ...}.
draw() {
    local dir

    dir=$(dirname -- "${opt[page]}")
    printf '%s\n' "$results" >"$tmp/results.json"
    python3 "$bench_dir/page/curves.py" "$tmp/results.json" "$dir"
}
figures='{}'
if [[ -n ${opt[page]} ]]; then
    if ! command -v python3 >/dev/null; then
        echo "seeds.sh: no figures, there is no python3" >&2
    elif ! figures=$(draw); then
        bench_problem "no figures" && figures='{}'
    fi
fi
if [[ -n ${opt[page]} ]]; then page | wrapped >"${opt[page]}" || bench_problem "no page"; fi
bench_end
