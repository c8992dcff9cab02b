# seeds_cases.sh - cases of seeds.sh that run another program, or one program twice, or in another
# way than writing once.  Sourced by bash, after functions.sh.
# shellcheck shell=bash disable=SC2120,SC2154 # build, tmp, opt, slow, memory, plugin, samples, ...

# dedicated VARIANT COMMAND ...: with two dedicated aggregators where the variant names them, as
# "zcache run --aggregators 2" starts them.  Their caches are empty each time.
dedicated() {
    local i

    if [[ $1 != *dedicated* ]]; then "${@:2}"; return; fi
    for i in 20 21; do
        start_daemon "$i" --aggregator --root "$slow" --store-daemons "$tmp/0.addr"
    done
    "${@:2}"
    for i in 21 20; do
        stop_daemon "$i" || bench_problem "aggregator $i did not drain: $(tail -n 3 "$tmp/$i.log")"
    done
}
dedicated_row="zcache: dedicated aggregators | zcache | 0 |"

# dedicated_variant [WORD ...]: with the hint that names them; $tmp is not known before a benchmark
# begins.
dedicated_variant() {
    echo "${dedicated_row/ |/${*:+, $*} |} zcache_aggregators=$tmp/20.addr,$tmp/21.addr"
}

# copies CASE BYTES TIMES: what all cores take to copy so many bytes, so often, by memcpy() alone; a
# rank each, as none waits for a core then.
copies() {
    local i mpi=mpich

    for ((i = 1; i <= repeats; i++)); do
        ranks "$cores" '' "$build/tests/bench/copies" $(($2 / cores)) "$3" >"$tmp/run.json" \
            2>"$tmp/run.log" &&
            jq -ec --arg case "$1" --argjson ranks "$cores" '(.bytes / .seconds / 1e6) as $rate
                | {$case, variant: "memcpy", $ranks, bytes, hints: {}, metrics: {io_s: .seconds,
                    total_s: .seconds, write_mb_s: $rate, write_close_mb_s: $rate,
                    elapsed_mb_s: $rate}}' "$tmp/run.json" >>"$samples" ||
            bench_failed "$1" memcpy "$(tail -n 5 "$tmp/run.log")"
    done
}

# ---- reading --------------------------------------------------------------------------------
# read_run CASE VARIANT FILE RANKS OPTION ...: once, with cold caches, of FILE below $memory/slow.
read_run() {
    local case=$1 file=$3 n=$4 label type daemon program preload prefix mpi extra status

    bench_variant "$2"
    bench_read "$slow/$file" "$n" "${@:5}"
    status=$?
    ((status == 0)) && jq -ec --arg case "$case" --arg variant "$label" --argjson rate "$rate" '
        select(.verification.result == "passed" and .verification.mpi_bytes == .file_bytes)
        | .repeats[0].read as $r
        | {$case, $variant, ranks, bytes: .file_bytes, hints: .options.hints, metrics: {
            total_s: $r.total_seconds, io_s: $r.io_seconds,
            seen_mb_s: (.file_bytes / $r.io_seconds / 1e6),
            hidden: (1 - $r.io_seconds / (.file_bytes / $rate))}}' "$tmp/run.json" >>"$samples" &&
        return
    bench_failed "$case" "$label" "status $status: $(tail -n 5 "$tmp/run.log")"
}

# file_to_read NAME RANKS OPTION ...: made without the slow store.
file_to_read() {
    ranks "$2" '' "$simpario" -f "ufs:$memory/slow/$1" --write --keep --quiet --no-reference \
        "${@:3}" --compute 0 >"$tmp/run.log" 2>&1 ||
        fail "no file to read: $(tail -n 5 "$tmp/run.log")"
}

# read_turns CASE FILE RANKS OPTION ...: all variants in turn.
read_turns() {
    local i variant

    for ((i = 1; i <= repeats; i++)); do
        for variant in "${variants[@]}"; do
            bench_progress "$1, repetition $i: ${variant%%|*}"
            dedicated "$variant" read_run "$1" "$variant" "${@:2}"
        done
    done
    bench_progress
}

case_prefetch() {
    local n record compute args

    record=$(scaled 1M)
    variants=('ufs: default hints | ufs | |' "ufs: two-phase | ufs | | $two_read"
        "zcache: 1 aggregator, daemon alone ahead | zcache | 0 | cb_nodes=1 zcache_prefetch=false \
            zcache_block_size=$(scaled 1M)")
    for n in 1 2 4 8; do
        variants+=("zcache: $n aggregators | zcache | 0 | cb_nodes=$n cb_config_list=*:* \
            zcache_block_size=$(scaled 1M)")
    done
    read -ra compute <<<"$(computing 8 $((8 * record)))"
    args=(--phases 10 --record "$record" "${compute[@]}")
    file_to_read "$1" 8 "${args[@]}"
    read_turns "$1" "$1" 8 "${args[@]}"
    rm -f -- "$memory/slow/$1"
}

# Written by eight ranks, into one file, two, and one of each rank.
case_restart() {
    local files n args

    variants=("${direct[0]}" "ufs: two-phase | ufs | | $two_read" 'zcache: embedded | zcache | |'
        'zcache: one daemon | zcache | 0 |' "$(dedicated_variant)")
    for files in 1 2 8; do
        args=(--pattern checkpoint --phases 4 --record "$(scaled 2M)" --files "$files")
        file_to_read "$1" 8 "${args[@]}"
        for n in 4 16; do
            read_turns "$1: $files files of 8 ranks, read by $n" "$1" "$n" "${args[@]}" --writers 8
        done
        rm -f -- "$slow/$1"* # by the mount, which remembers names for a second
    done
}

# ---- arrays in another order ----------------------------------------------------------------
# order_variants WAY ROW ...: ROW is "label | file type | daemon | hints"; each as the file has it,
# in all 24 orders in turn, and these by the program's own copy.
order_variants() {
    local row

    variants=()
    for row; do
        variants+=("${row/ |/, as in the file |} | --permute 0123"
            "${row/ |/, permuted |} | --permute all"
            "${row/ |/, permuted by a copy |} | --permute all --permute-by copy")
    done
}

case_permute() {
    local record compute ways=('ufs: default hints | ufs | | ' 'zcache: embedded | zcache | | '
        'zcache: one daemon | zcache | 0 | ')

    record=$(scaled 1M)
    read -ra compute <<<"$(computing 4 $((4 * record)))"
    order_variants "${ways[@]}"
    turns "$1: blocks" 4 --pattern subarray4d --phases 24 --record "$record" "${compute[@]}"
    order_variants "${ways[0]}" "${ways[1]}"
    turns "$1: ragged blocks" 4 --pattern ragged4d --phases 24 --record "$record" "${compute[@]}"
    turns "$1: blocks, external32" 4 --pattern subarray4d --phases 24 --record "$record" \
        --datarep external32 "${compute[@]}"
    # ROMIO has no conversion functions.
    order_variants "${ways[1]}"
    turns "$1: blocks, registered" 4 --pattern subarray4d --phases 24 --record "$record" \
        --datarep registered "${compute[@]}"
}

# Values at nodes, each for itself, and at elements, in runs that a part of the grid owns.
case_mesh() {
    local record

    record=$(scaled 1M)
    variants=("${both[@]}")
    searched
    turns "$1: node map" 8 --pattern irregular --phases 2 --record "$record"
    turns "$1: element map" 8 --pattern climate --map i --phases 2 --record "$record"
}

# ---- BTIO -----------------------------------------------------------------------------------
# The four variants of the paper, beside each other over the slow store.
btio_variants=('two-phase (TP) | ufs | | romio_cb_write=enable'
    'view-based (VB-original) | zcache | 0 | zcache_write_back=none'
    'write-back at compute nodes (VB-CNWB) | zcache | 0 | zcache_write_back=aggregator'
    'two-level write-back (VB-2WB) | zcache | 0 |')

# btio_run CASE VARIANT OPTION ...: once.  File access is what the store was busy with while the
# file was written; network is for how long calls of the aggregators to the daemon were under way,
# without the time for which a daemon that does not write back waits for the store; hidden is what
# of both the program did not wait for.
btio_run() {
    local case=$1 label type daemon program preload prefix mpi extra before after status

    bench_variant "$2"
    shift 2
    before=$(<"$slow/.slowfs")
    ZCACHE_DAEMONS=${daemon:+$tmp/$daemon.addr} \
        ranks 4 "$preload" "$build/btio/btio" -f "$prefix$slow/btio" "${extra[@]}" --quiet \
        --posix-verify "$memory/slow/btio" --json "$tmp/run.json" "$@" >"$tmp/run.log" 2>&1
    status=$?
    after=$(<"$slow/.slowfs")
    ((status == 0)) && jq -ec --arg case "$case" --arg variant "$label" --argjson before "$before" \
        --argjson after "$after" '
        select(.verification.result == "passed" and .verification.posix_bytes == .file_bytes)
        | def busy: .write.busy_seconds + .sync.busy_seconds;
        (.options.hints.zcache_write_back // "both") as $levels
        | (($after | busy) - ($before | busy)) as $file
        | ((.caches.aggregators // {}) | (.store_busy_ns // 0)) as $below
        | ([$below / 1e9 - if $levels == "both" then 0 else $file end, 0] | max) as $network
        | {$case, $variant, ranks, bytes: .file_bytes, hints: .options.hints, metrics: {
            total_s: .compute.total_seconds, compute_s: .compute.compute_seconds,
            io_s: .write.write_seconds, close_s: .write.close_seconds,
            write_mb_s: (.write.write_bytes_per_second / 1e6),
            write_close_mb_s: (.write.write_close_bytes_per_second / 1e6),
            file_s: $file, network_s: $network,
            hidden_s: ([$file + $network - .write.write_close_seconds, 0] | max)}}' \
        "$tmp/run.json" >>"$samples" && return
    bench_failed "$case" "$label" "status $status: $(tail -n 5 "$tmp/run.log")"
}

case_btio() {
    local i variant args=(--grid 48 --steps 16 --interval 1)

    ((opt[shrink] == 1)) || args=(--grid 24 --steps 8 --interval 1)
    for ((i = 1; i <= repeats; i++)); do
        for variant in "${btio_variants[@]}"; do
            bench_progress "$1, repetition $i: ${variant%%|*}"
            btio_run "$1" "$variant" "${args[@]}"
        done
    done
    bench_progress
}

# ---- a climate model over PnetCDF -----------------------------------------------------------
# climate_build: leaves the program in $tmp; fails, and has said so, where there is no PnetCDF.
climate_build() {
    local dir

    for dir in "$(made_library pnetcdf)" /usr; do
        [[ $dir && -e $dir/include/pnetcdf.h ]] || continue
        "${MPICC:-mpicc.mpich}" -O2 -I"$dir/include" -o "$tmp/climate_nc" \
            "$bench_dir/climate_nc.c" -L"$dir/lib" -lpnetcdf -lm >"$tmp/climate.log" 2>&1 || continue
        pnetcdf=$dir
        return
    done
    echo "seeds.sh: climate is left out: no PnetCDF that it compiles with" \
        "(tests/docs/library pnetcdf makes one)" >&2
    return 1
}

# climate_run CASE VARIANT WAY STEPS SECONDS LATITUDES: once; WAY is serial, parallel or calls.
climate_run() {
    local case=$1 label type daemon program preload prefix mpi extra status name=climate.nc
    local dir=$slow

    bench_variant "$2"
    [[ $label != *"in memory"* ]] || dir=$memory/slow
    PNETCDF_HINTS=$([[ $label != *burst* ]] ||
        echo "nc_burst_buf=enable;nc_burst_buf_dirname=$memory;nc_burst_buf_del_on_close=enable") \
        ZCACHE_DAEMONS=${daemon:+$tmp/$daemon.addr} \
        ranks 4 "$preload" "$tmp/climate_nc" "$prefix$dir/$name" "$3" "$4" "$5" "$6" \
        "ufs:$memory/slow/$name" >"$tmp/run.json" 2>"$tmp/run.log"
    status=$?
    rm -f -- "$dir/$name" "$dir/$name.r" # by the mount, which remembers names for a second
    ((status == 0)) && jq -ec --arg case "$case" --arg variant "$label" '
        select(.wrong == 0) | {$case, $variant, ranks: 4, bytes, hints: {}, metrics: {
            io_s: .io_seconds, total_s: .io_close_seconds,
            write_mb_s: (.bytes / .io_seconds / 1e6),
            write_close_mb_s: (.bytes / .io_close_seconds / 1e6),
            elapsed_mb_s: (.bytes / .io_close_seconds / 1e6)}}' "$tmp/run.json" >>"$samples" &&
        return
    bench_failed "$case" "$label" "status $status: $(tail -n 5 "$tmp/run.log")"
}

# History and restart.  The way is the word behind the label's last comma.
case_climate() {
    local i variant label steps=3 latitudes=192 pnetcdf seconds

    climate_build || return
    ((opt[shrink] == 1)) || latitudes=96
    variants=('ufs: one rank writes, serial | ufs | |' 'ufs: all ranks write, parallel | ufs | |'
        'ufs: all ranks write, calls | ufs | |'
        'zcache: embedded, parallel | zcache | |' 'zcache: embedded, calls | zcache | |'
        'zcache: one daemon, parallel | zcache | 0 |' 'zcache: one daemon, calls | zcache | 0 |'
        'ufs: in memory, parallel | ufs | |' 'ufs: in memory, calls | ufs | |')
    if "$pnetcdf/bin/pnetcdf-config" --all 2>/dev/null | grep -qi 'burst.*enabled'; then
        variants+=('PnetCDF: burst buffer, parallel | ufs | |'
            'PnetCDF: burst buffer, calls | ufs | |')
    else
        echo "$bench_name: no burst buffer in the PnetCDF of $pnetcdf; tests/docs/library pnetcdf" \
            "makes one that has it" >&2
    fi
    # A step has 112 layers of floats.
    seconds=$(awk -v rate="$rate" -v bytes="$((112 * latitudes * latitudes * 3 / 2 * 4))" \
        'BEGIN { print 1.5 * bytes / rate }')
    for ((i = 1; i <= repeats; i++)); do
        for variant in "${variants[@]}"; do
            label=${variant%% |*}
            bench_progress "$1, repetition $i: $label"
            climate_run "$1" "$variant" "${label##*, }" "$steps" "$seconds" \
                "$latitudes"
        done
    done
    bench_progress
}
