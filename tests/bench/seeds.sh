#!/usr/bin/env bash
# seeds.sh - the headline results of the papers that zcache stands on, each beside a counterpart.
#
#     seeds.sh [--quick] [--cases NAMES] [--repeats N] [--json FILE] [option ...]
#
# Throughput as the ranks see it (their writes alone), and until all is in the file (with the
# close), beside what a user has without zcache, in turn; all bytes are verified.  What is to be
# reached is in seeds_goals.jq.  The cases:
#
#     burst       phases of more than the aggregator may cache, 8M, then computing: the I/O node is
#                 needed (multiple-level staging)
#     steady      phases that ranks can cache: it is not
#     prefetch    reading with computing between, by number of aggregators (multiple-level staging)
#     arrays      one rank writes ten arrays of floats, computing between them (PAIO)
#     daemons     larger ones without computing, by number of daemons that have a store each (PAIO);
#                 needs root, for mounts of their own
#     memory      half of a daemon's cache to four times of it: no cliff (PAIO)
#     checkpoint  a solver's, one file, several or one of each rank, collective and independent:
#                 as seen beside what memory takes, as stored beside the store (syncIO, rbIO)
#     pio         irregular decompositions on 4 and 16 ranks (PIO)
#     decomposed  the same by one filetype, PnetCDF and netCDF-4, on 4 to 64 ranks, beside two-phase
#                 on parts that ranks have rearranged before (PIO)
#     formats     serial and parallel formats with some I/O tasks: the paper's table (PIO)
#     owners      peak memory of an owner of blocks with 1 and 64 clients (PIO)
#     btio        BTIO in the four variants of the paper, its time split into file access, network
#                 and what of both computing hides (multiple-level staging)
#     restart     checkpoints of 8 ranks read back on 4 and on 16 (syncIO and rbIO)
#     permute     4-D arrays in all 24 orders of dimensions in memory, ragged blocks, external32 and
#                 a representation of the program, beside a copy in the program (PDS/PIO)
#     mesh        an unstructured grid by node and element maps (PXI)
#     climate     history and restart files through PnetCDF by all ranks, beside one that gathers
#                 and writes alone (PDS/PIO); where PnetCDF is there
#     handover    handover.sh on this store: from a sync in one job to the bytes in another one
#     hosts       hosts.sh on this store: two compute hosts and one I/O node (multiple-level
#                 staging); needs root, for namespaces
#
#     --rate RATE     200M, of the store    --op-us N  50       --latency-us N  200
#     --shrink N      1: the files are so many times smaller (arrays and daemons are not; btio and
#                     climate have one smaller size)
#     --timeout SECONDS  120, for one run   --budget SECONDS  2400: cases that begin later run once
#     --settle SECONDS  60, that it waits at most for a quiet machine
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
    owners permute mesh climate handover hosts)
opt+=([cases]=${known[*]} [rate]=200M [op-us]=50 [latency-us]=200 [shrink]=1
    [repeats]=3 [budget]=2400 [settle]=60 [page]=)
quick+=([shrink]=8 [repeats]=1 [settle]=0)
kinds[rate]=rate kinds[cases]=names
bench_options "$@"
for name in ${opt[cases]}; do
    [[ " ${known[*]} " == *" $name "* ]] ||
        bench_misuse "--cases $name: not one of ${known[*]}"
done
rate=$(numfmt --from=si "${opt[rate]}")
two='romio_cb_write=enable cb_config_list=*:2 cb_nodes=2'
two_read='romio_cb_read=enable cb_config_list=*:2 cb_nodes=2'
touched=$((512 * 1024 * 1024 / opt[shrink]))

# ---- what is run ----------------------------------------------------------------------------
direct=('ufs: default hints | ufs | |' "ufs: two-phase | ufs | | $two")
both=("${direct[@]}" 'zcache: embedded | zcache | |' 'zcache: one daemon | zcache | 0 |')

# What a program gets by itself that begins each write, computes, and then ends it: of OMPIO, as
# ROMIO goes on with such an access only in MPI calls.
overlapped=()

# searched [WAY]: variants with other hints of ROMIO for small pieces, so that the best of them is
# among the rows.
searched() {
    local row

    for row in '1 aggregator | cb_nodes=1' '4 aggregators | cb_nodes=4' \
        'buffers of 64M | cb_nodes=2 cb_buffer_size=67108864' \
        '4 aggregators, buffers of 1M | cb_nodes=4 cb_buffer_size=1048576'; do
        variants+=("ufs: two-phase, ${row% |*} | ufs | | romio_cb_write=enable cb_config_list=*:* \
            ${row#*| } ${1:+| $1}")
    done
}

# levels HINT ...: the levels that write back, each with these hints.
levels() {
    variants=("${direct[@]}" "${overlapped[@]}" "zcache: no write-back | zcache | 0 | zcache_write_back=none $*"
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
    variants+=("zcache: ranks only, as much memory | zcache | 0 | zcache_write_back=aggregator \
        zcache_cache_size=$(scaled 520M)")
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

    variants=("${both[@]}" "${overlapped[@]}")
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
    local phases record

    variants=("${direct[0]}" "zcache: one daemon | zcache | 2 | zcache_cache_size=$(scaled 8M) \
        zcache_block_size=$(scaled 1M)")
    record=$(scaled 2M) # half of a cache of 64M in 4 phases of 4 ranks
    start_daemon 2 --root "$slow" --cache-size "$(scaled 64M)" \
        --page-size "$(scaled 512K)"
    for phases in 4 5 6 7 8 16 32; do
        turns "$1: $(awk -v n="$phases" 'BEGIN { print n / 8 }') of the cache" 4 \
            --phases "$phases" --record "$record"
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
            variants=("${overlapped[@]}")
            [[ $access != collective || ${#variants[@]} == 0 ]] || turns "$1: $files files, $access" 8 \
                --pattern checkpoint --phases 4 --record "$record" --files "$files" "${compute[@]}"
            variants=('ufs: default hints, no computing | ufs | |'
                'zcache: embedded, no computing | zcache | |'
                'zcache: one daemon, no computing | zcache | 0 |'
                "$(dedicated_variant no computing)")
            turns "$1: $files files, $access" 8 --pattern checkpoint --phases 8 --record "$record" \
                --files "$files" --access "$access"
            variants=('ufs: in memory | ufs | |')
            bench_turns "$1: $files files, $access" "$memory" "$memory" 8 --pattern checkpoint \
                --phases 4 --record "$record" --files "$files" --access "$access"
            copies "$1: $files files, $access" $((8 * record)) 4
        done
    done
}

case_pio() {
    local n record

    variants=("${both[@]}")
    searched
    record=$(scaled 8M)
    for n in 4 16; do
        turns "$1: $n ranks" "$n" --pattern climate --map f --phases 1 --record "$record"
    done
}

# Benchmarks of their own; their results are $handover and $hosts.
handover=null hosts=null

# other NAME OPTION ...: its results, or null.
other() {
    "$bench_dir/$1.sh" --repeats "$repeats" --json "$tmp/$1.json" --write-rate "${opt[rate]}" \
        --op-us "${opt[op-us]}" --latency-us "${opt[latency-us]}" --timeout "${opt[timeout]}" \
        "${@:2}" >"$tmp/$1.log" 2>&1 || bench_problem "$1.sh: $(tail -n 1 "$tmp/$1.log")"
    cat "$tmp/$1.json" 2>/dev/null || echo null
}

case_handover() { handover=$(other handover --read-rate "${opt[rate]}"); }

case_hosts() {
    ((EUID == 0)) || { bench_problem "hosts: needs root, to make namespaces"; return; }
    hosts=$(other hosts --phases 10 --piece 64K)
}

# ---- running --------------------------------------------------------------------------------
bench_start 16
openmpi_unpacked=$build/mpis/openmpi # by tests/mpis/fetch-flavours
if openmpi_build; then
    both+=('OMPIO: Open MPI as it is | ompio | |')
    overlapped+=('OMPIO: split, overlapped | ompio | | | --access split')
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
bench_await_quiet
bench_progress
once= # cases that ran once, as it was late
for name in ${opt[cases]}; do
    repeats=${opt[repeats]}
    if ((SECONDS >= opt[budget] && repeats > 1)); then
        repeats=1
        once+="${once:+,} $name"
    fi
    "case_$name" "$name"
done
stop_daemon 0 || bench_problem "the daemon did not drain: $(tail -n 3 "$tmp/0.log")"
slowfs_unmount "$slow" || bench_problem "slowfs ended with status $?"

# ---- results --------------------------------------------------------------------------------
store="slowfs, ${opt[rate]} bytes/s, ${opt[op-us]} us per request, ${opt[latency-us]} us round trip"
bench_results store="$store" load="$load"
bench_add ".handover = $handover | .hosts = $hosts"
# Of each variant: MB/s as seen and with the close; how many times as fast as the best of what a
# user has without zcache and without a change of the program; and what a case compares besides.
bench_add "$rate"' as $rate
    | def in_memory: startswith("ufs: in memory");
    def bound: in_memory or . == "memcpy";
    def not_computing: endswith(", no computing");
    def direct: (startswith("ufs:") or startswith("OMPIO:") or . == "two-phase (TP)")
        and (in_memory or endswith(", overlapped") or not_computing | not);
    .cases[] |= (.variants as $all
    | def top(f): [$all[] | select(.variant | direct) | f // empty] | max;
    top(.metrics.write_mb_s.median // .metrics.seen_mb_s.median) as $seen
    | top(.metrics.write_close_mb_s.median) as $stored
    | ([$all[] | select(.variant | bound and . != "ufs: in memory") | .metrics.write_mb_s.median]
        | max) as $limit
    | ([$all[] | select(.variant == "zcache: 1 of them") | .metrics][0]) as $one
    | ([$all[] | select(.variant == "two-phase (TP)") | .metrics | .io_s.median + .close_s.median][0])
      as $waits
    | def in_order: sub(", (permuted.*|as in the file)$"; ", as in the file");
    .variants |= map(if (.metrics | length) == 0 then . else
        (.metrics.write_mb_s // .metrics.seen_mb_s) as $s | .metrics.write_close_mb_s as $c
        | (.variant | bound or not_computing) as $bound
        | .beside = {x_seen: (if $seen and ($bound | not) then $s.median / $seen else null end),
            x_stored: (if $stored and $c and ($bound | not) then $c.median / $stored
                else null end),
            of_order: ((.variant | in_order) as $same
                | [$all[] | select(.variant == $same) | .metrics.write_mb_s.median][0]
                | if . and ($same | endswith(", as in the file")) then $s.median / . else null end),
            of_serial: ([$all[] | select(.variant | endswith(", serial"))
                | .metrics.write_mb_s.median][0] | if . then $s.median / . else null end),
            of_memory: (if $limit then $s.median / $limit else null end),
            of_store: (if .variant | not_computing then .metrics.elapsed_mb_s.median * 1e6 / $rate
                else null end),
            of_one: (if $one and $c then $s.median / $one.write_mb_s.median else null end),
            of_one_stored: (if $one and $c then $c.median / $one.write_close_mb_s.median
                else null end),
            spared: (if $waits then 1 - (.metrics.io_s.median + .metrics.close_s.median) / $waits
                else null end)}
      end))'
goals=$(jq -L "$bench_dir" 'include "seeds_goals"; [goals]' <<<"$results") ||
    { bench_problem "the goals are not compared"; goals='[]'; }
bench_add ".goals = $goals"
echo "store: $store; a load of $load before"
echo "layout: $(bench_layout)"
echo "median (lowest-highest) of ${opt[repeats]} repetitions in turn, verified; MB/s"
columns='|seen|x direct|with close|x direct|of memory|of one|of order|hidden|peak MB'
bench_table "$columns" '
    def stored: if .seen_mb_s then "-" else (.write_close_mb_s | s(0)) end;
    .cases[] | ["\(.case), \((.variants[0].bytes // 0) / 1e6 | round) MB"],
    (.variants[] | .metrics as $m | (.beside // {}) as $b
        | ["  " + .variant, ($m.write_mb_s // $m.seen_mb_s | s(0)), ($b.x_seen | n(2)),
           ($m | stored), ($b.x_stored | n(2)),
           ($b.of_memory | n(2)), ($b.of_one | n(2)), ($b.of_order | n(2)),
           ($m.hidden // null | if . then m(2) else "-" end),
           ($m.peak_mb // null | if . then m(1) else "-" end)])'
bench_table 'result|to reach|is|' '.goals[] | [.result, .reach, (.is | n(2)),
    (if .met then "reached" else "not reached" end)]'

# ---- the page -------------------------------------------------------------------------------
page() {
    cat <<END
# Results of the papers, and their counterparts

What the systems reported that zcache follows, and what it reaches in a model of the case on one
machine, beside what a user has without it. The systems: two-level staging with ROMIO on Blue Gene
("multiple-level staging"); Parallel Asynchronous I/O (PAIO); syncIO and rbIO, checkpoints of a
partitioned solver; PIO, of the Community Earth System Model; PDS/PIO and PXI, parallel data sets
and Exodus.

Seen: bytes by the time that the slowest rank waits in its writes or reads, MB/s. With close: the
same with the close, after which all is in the file. Time spent computing is in neither, so that
both may exceed the store's rate. Seconds: from before the open until all is stored, computing
included (climate, decompositions: without it); writing takes the store alone bytes / rate, 0.5 s
for 100 MB. x is times the best of what a program gets without zcache and without a change: ROMIO's
ufs, OMPIO, one rank that writes.
Overlapped: the program begins a write, computes and ends it, which OMPIO makes meanwhile, and ROMIO
does not; it must be written so, and keep the data. All bytes were verified; medians of
${opt[repeats]}, in turn, and behind them the lowest and highest.

SimParIO by record and by ranks, reading without computing, and what the words mean are on
[the page of all benchmarks](README.md). $(if [[ -z $openmpi_obstacle ]]; then
    echo "OMPIO is that of Open MPI."; else echo "OMPIO is missing: $openmpi_obstacle."; fi)
$([[ -z $once ]] || echo "Measured once, for want of time:$once.")

Measured on $(date -u +%Y-%m-%d), a load of $load before, $(bench_layout).
The store: $store. There are more ranks than cores, so ranks compute by sleeping, which leaves both
cores to what works in the background: where ranks compute on all cores less is hidden (the page of
all benchmarks, BTIO). Daemons, dedicated aggregators and the store have processor time beside that
of the ranks. Before each run $(numfmt --to=iec "$touched") of free memory are touched: a virtual
machine may have to get what was free from its host, which takes ten times as long as its own kernel
does.
\`make bench-seeds\` measures this again; \`tests/bench/seeds.sh --help\` tells of the cases.

## What was to be reached

| result | to reach | is | |
| :-- | --: | --: | :-- |
END
    jq -L "$bench_dir" -r 'include "bench"; .goals[] | "| \(.result) | \(.reach) | \(.is | n(2)) | " +
        (if .met then "reached" else "not reached" end) + " |"' <<<"$results"
    jq -L "$bench_dir" -r --argjson about "$(about)" --argjson figures "$figures" '
        include "bench";
        def head: split(":")[0];
        def stored: if .seen_mb_s then "-" else (.write_close_mb_s | s(0)) end;
        .cases | group_by(.case | head) | sort_by(.[0].case | head as $h | $about | map(.[0]) |
            index($h)) | .[] | (.[0].case | head) as $h
        | ($about[] | select(.[0] == $h)) as $a
        | def table:
          ($a[3] != "seconds") as $more
          | "| case | way | seen | x direct | with close | x direct | seconds |" +
              (if $more then " \($a[3]) |" else "" end),
          "| :-- | :-- | --: | --: | --: | --: | --: |" + (if $more then " --: |" else "" end),
          (.[] | .case as $case | .variants[] | .metrics as $m | (.beside // {}) as $b
            | "| \($case), \((.bytes // 0) / 1e6 | round) MB | \(.variant) | " +
              "\($m.write_mb_s // $m.seen_mb_s | s(0)) | \($b.x_seen | n(2)) | " +
              ($m | stored) +
              " | \($b.x_stored | n(2)) | \($m.total_s.median | n(2)) |" +
              (if $more then " " + ({"of memcpy, of the store": ([$b.of_memory, $b.of_store]
                    | map(n(2)) | join(", ")),
                "of one, seen and with close": ([$b.of_one, $b.of_one_stored] | map(n(2))
                    | join(", ")),
                "of unpermuted": ($b.of_order | n(2)), "x serial": ($b.of_serial | n(2)),
                "hidden": ($m.hidden.median | n(2)), "peak MB": ($m.peak_mb.median | n(1)),
                "MB of the owner, of a rank, seconds of its threads": ([($m.owner_mb.median | n(1)),
                    ($m.peak_mb.median | n(1)), ($m.threads_s.median | n(2))] | join(", "))}[$a[3]])
                + " |" else "" end));
        def split_times:
          "| way | computing | writes | close | total | file access | network | hidden | spared |",
          "| :-- | --: | --: | --: | --: | --: | --: | --: | --: |",
          (.[].variants[] | .metrics as $m | "| \(.variant) | \($m.compute_s | m(2)) | " +
            "\($m.io_s | s(3)) | \($m.close_s | s(3)) | \($m.total_s | s(2)) | " +
            "\($m.file_s | m(2)) | \($m.network_s | m(2)) | \($m.hidden_s | m(2)) | " +
            "\(.beside.spared | n(2)) |");
        def rate($name; f): [.[0].variants[] | select(.variant == $name) | .metrics | f][0].median;
        def rule: rate("zcache: ranks only"; .write_mb_s) as $one
          | rate("zcache: both levels"; .write_mb_s) as $two
          | if $one and $two then
              "\nHere both levels are seen \($two / $one | n(1)) times as fast as ranks alone, " +
              "and with the close " + ((rate("zcache: both levels"; .write_close_mb_s) /
                rate("zcache: ranks only"; .write_close_mb_s)) | n(1)) + " times."
            else empty end;
        "\n## \($a[1])\n\n\($a[2])", ($figures[$h] // empty | "\n![\($a[1])](\(.))"),
        (if $h == "burst" or $h == "steady" then rule else empty end), "",
        (if $h == "btio" then split_times else table end)' \
        <<<"$results"
    [[ $hosts == null ]] || page_hosts
    [[ $handover == null ]] || page_handover
}

page_hosts() {
    cat <<'END'

## Multiple-level staging: two compute hosts and one I/O node

4 ranks, two on each compute host, write 10 phases of 4 MiB with 0.1 s of computing before each;
namespaces play the hosts, and share the cores. The first open makes the connections between hosts,
later ones of the same job use them. Seconds; the store is mounted on all hosts, so that direct
writing and the embedded cache do not need the I/O node.

| open | way | open to close | of ufs | open | close |
| :-- | :-- | --: | --: | --: | --: |
END
    jq -L "$bench_dir" -r 'include "bench"; .cases[].variants as $all
        | ("first", "later") as $open | $all[]
        | .metrics as $m | def of(what): $m["\($open)_\(what)_s"];
        "| \($open) | \(.variant) | \(of("total") | s(2)) | \(.of_ufs[$open] | n(2)) | " +
            "\(of("open") | s(3)) | \(of("close") | s(3)) |"' <<<"$hosts"
}

page_handover() {
    cat <<'END'

## Beyond the papers: a consumer beside its producer

Milliseconds from the call of MPI_File_sync in one job until all ranks of another one have the bytes
of that step, of a step in the middle and of the slowest one of a run. 2 ranks each, 10 steps of
4 MiB through one daemon, 0.2 s apart; the consumer waits with zcache_wait_step. Staged: the sync
returns when the daemon has the step; durable, the default: when the store has it. Without zcache: a
sync, a marker file, and the file opened again. Reads are requests to the file system.

| way | ms a step | slowest | reads |
| :-- | --: | --: | --: |
END
    jq -L "$bench_dir" -r 'include "bench"; .cases[0].variants[] | .metrics as $m |
        "| \(.variant) | \($m.ms | s(1)) | \($m.most_ms | s(1)) | \($m.reads | s(0)) |"' \
        <<<"$handover"
}

# What stands above each table: case, title, text, last column.
about() {
    cat <<'END'
[["burst", "Multiple-level staging: a burst that ranks cannot hold",
  "8 ranks write 4 phases of 128 MiB, each followed by computing for as long as the store needs for a phase. The aggregator may cache 8 MiB; the daemon has 512 MiB, which hold all. One row has all that memory in the aggregator. Rule: start a daemon where an aggregator gets more in a phase than its cache and what the store takes meanwhile, where its memory cannot be raised, and where the network is faster than the store; its cache then holds a phase (operations.md). No cache helps where computing is too short on average for the store to take a phase.", "seconds"],
 ["steady", "Multiple-level staging: what ranks can hold",
  "The same with 10 phases of 8 MiB. Rule: no daemon, unless jobs share files or ranks need the memory.", "seconds"],
 ["btio", "Multiple-level staging: BTIO in four variants",
  "Seconds, of the slowest rank. Computing, the writes and the close are what the program waits for. File access is how long the store was busy with the file, network how long the aggregators had calls to the daemon under way, hidden the part of both for which the program did not wait. Spared: the part of what two-phase waits in writes and close that is waited for no more. The paper: with two levels, network and file access are almost entirely hidden. The daemon is on the same host here, where a second level is a copy more; it pays where a network is between both.", "hidden"],
 ["prefetch", "Multiple-level staging: prefetching at the I/O node",
  "8 ranks read 10 phases of 8 MiB from cold caches, with computing for as long as the store needs for a phase. Aggregators read ahead of their ranks, and the daemon along the stride of each aggregator; with the daemon alone ahead is a row of its own. Hidden: the part of the store's time for the file that was not waited for; negative where it took longer than that. The paper: prefetching pays with computing between reads, and costs a little without. Rule: one aggregator for each host; more only where each has many blocks ahead of it.", "hidden"],
 ["arrays", "PAIO: one process writes arrays",
  "Ten arrays of 9 MB, a step of computing as long as the store needs for one. The paper: 2.5 times direct writing, as seen by the program, without computing between the arrays; that is the next case.", "seconds"],
 ["daemons", "PAIO: several I/O nodes",
  "Ten arrays of 18 MB without computing, each daemon with a store of its own; direct writing has one. The paper: two are 1.7, three 2.3 times one, as seen, since its network was the limit. Here daemons share two cores and one memory, and more of them are seen slower; what grows is the rate of the stores. Rule: more daemons where each brings a store or a network link of its own.", "of one, seen and with close"],
 ["memory", "PAIO: more data than memory",
  "4 ranks write up to four times the daemon's cache of 64 MiB without computing, through an aggregator with 8 MiB. The paper's direct-attached cache was seen 24 % slower once data exceeded 67 % of memory. Here, what exceeds the caches, of 72 MiB together, is seen at the store's rate, and the whole approaches it.", "seconds"],
 ["checkpoint", "syncIO and rbIO: partitioned checkpoints",
  "8 ranks write 4 fields of 16 MiB, with computing for as long as the store needs for one, into one file, two, or one of each rank (8 files). The paper, rbIO: seen 37 % of the memory bandwidth of all nodes, stored 38 % of the storage's limit. Memcpy: as many ranks as cores copy as much, from when the first one begins until the last one has ended: what the memory takes. What is seen are the times of ranks in their writes, which leave out that a rank waits for a core before. In memory: ROMIO to tmpfs without computing. No computing: 8 fields; of the store is the time from the open until all is stored, with making the data in it. Rule: embedded, unless ranks need memory or cores for themselves (dedicated aggregators), or a next job reads the file (daemon).", "of memcpy, of the store"],
 ["restart", "syncIO and rbIO: checkpoints read back on another number of ranks",
  "Read from cold caches, without computing; checking the data between the reads is not in what is seen. Where there are more files than ranks each rank reads several. The paper: 75 to 79 % of the storage's limit. Rule: faster than direct reading only where data is checked or used while the next is read, or where the daemon still has it.", "hidden"],
 ["pio", "PIO: irregular decompositions",
  "A million elements of eight bytes of each rank, dealt irregularly, without computing: the store's own time bounds what can be gained.", "seconds"],
 ["decomposed", "PIO: one filetype, PnetCDF, netCDF-4, and rearranged boxes",
  "Each rank has irregular runs of eight elements. Boxes: ranks send them to two I/O tasks first, which have a contiguous part each, as PIO does; with zcache there is no such layer. netCDF-4 has no call for many runs, so it writes boxes, as in PIO. 64 ranks have a quarter of the elements each. The last column: the largest growth of a rank's memory, which of an aggregator includes its cache; the daemon's is not in it.", "peak MB"],
 ["formats", "PIO: serial and parallel formats, and I/O tasks",
  "The paper: parallel formats with some I/O tasks write 9 to 33 times as fast as a serial one, on 16 storage targets, and with 15 times less memory of a task. Here one writer fills the only server, so that formats differ in memory above all. Serial: the first I/O task writes for all. zcache spares the layer, not the memory: the rank that is the aggregator grows by its cache. Rule: where ranks have little memory, dedicated aggregators.", "peak MB"],
 ["owners", "PIO: memory of owners",
  "Many senders can exhaust the memory of one receiver; PIO's layer holds them back by hand. Here a dedicated aggregator takes four times its cache of 32 MiB, from one client, 16 and 64; beside it ranks that cache as much themselves, and two-phase. Of the owner: its peak (not growth). Of a rank: the largest growth, and the most processor time of threads that work for it in the background, which a dedicated aggregator leaves to computing.", "MB of the owner, of a rank, seconds of its threads"],
 ["permute", "PDS/PIO: arrays in another order, ragged blocks, data representations",
  "A phase is a 4-D array of 4 ranks, and each phase has the next of the 24 orders of dimensions in memory, with computing between them. MPI gets such memory as a type. In the rows by a copy the program rearranges first, and that counts as writing: what it pays without the type. Registered: conversion functions of the program (MPI_Register_datarep), which ROMIO refuses; those of SimParIO turn each element around by itself. Rule: give MPI the type; where its row is below the copy's, copy.", "of unpermuted"],
 ["mesh", "PXI: unstructured grids",
  "Values of eight bytes at nodes, each of which may be any rank's, and at elements, in runs of 1 to 40 of a rank, many variables in a call; without computing.", "seconds"],
 ["climate", "PDS/PIO: history and restart files of a climate model",
  "A grid of 192 x 288 with 26 levels. 8 flat and 4 deep variables of floats in each of 3 steps and of doubles at the end, through PnetCDF by 4 ranks, with computing between the steps. The paper: more than ten times serial netCDF, where one rank gathers each variable and writes it alone; that is the first line, in the same format and on the same store, by PnetCDF on that rank. Parallel: the variables of a step in one flush of nonblocking requests; calls: one after the other. In memory: to tmpfs, which is the time of PnetCDF itself. PnetCDF's burst buffer has its log in memory, and gives it to the file in the close, or where requests are waited for (parallel).", "x serial"]]
END
}
# Fills paragraphs of 100 columns; headings, tables and figures are lines as they are.
wrapped() {
    awk 'function put() { if (line != "") print line; line = "" }
        /^[|#!]/ || /^$/ { put(); print; next }
        { for (i = 1; i <= NF; i++) {
              if (line != "" && length(line) + 1 + length($i) > 100) put()
              line = line == "" ? $i : line " " $i } }
        END { put() }' | cat -s
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
