# seeds_iotasks.sh - cases of seeds.sh: decomposed arrays by way of I/O tasks, or without (PIO).
# Sourced by seeds.sh, which has the store and the daemon.
#
# A variant is a line as in functions.sh, whose last column is the way and the number of I/O tasks
# of bench/iotasks.  Where PnetCDF was built (tests/programs/pnetcdf.suite, tests/docs/library), the
# program is compiled with it; else its variants are left out, with the reason.  netCDF-4 writes the
# contiguous part of each I/O task through HDF5, by one filetype, as "boxes" does without it.
# shellcheck shell=bash disable=SC2034,SC2154 # variants, opt, slow, two
iotasks=
with_pnetcdf=

# Sets $iotasks and $with_pnetcdf, once.
iotasks_program() {
    local prefix base=${ZCACHE_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/zcache}

    [[ ! $iotasks ]] || return 0
    iotasks=$build/tests/bench/iotasks
    for prefix in "$base"/libraries/pnetcdf*/ "$base"/programs/pnetcdf-*/installed/; do
        [[ -e $prefix/lib/libpnetcdf.a ]] || continue
        "${MPICC:-$(command -v mpicc.mpich || echo mpicc)}" -O2 -DHAVE_CONFIG_H -DWITH_PNETCDF \
            "-I$build" "-I$prefix/include" "$bench_dir/iotasks.c" -o "$tmp/iotasks" \
            "-L$prefix/lib" -lpnetcdf -lm >"$tmp/run.log" 2>&1 || continue
        iotasks=$tmp/iotasks with_pnetcdf=yes
        return
    done
    echo "$bench_name: without PnetCDF, which tests/docs/library pnetcdf makes: its variants are" \
        "left out"
}

# iotasks_run CASE VARIANT RANKS ELEMENTS: the peak is of the owner $owner, or else of a rank.
iotasks_run() {
    local case=$1 label type daemon words way peak status name=data.$RANDOM preload='' way_words=()
    local owners=''

    IFS='|' read -r label type daemon words way <<<"$2"
    label=$(trim "$label") type=$(trim "$type") daemon=$(trim "$daemon")
    read -ra way_words <<<"$way"
    [[ $type != zcache ]] || preload=$plugin
    [[ ! $owner ]] || owners=$tmp/$owner.addr
    ZCACHE_DAEMONS=${daemon:+$tmp/$daemon.addr} ZCACHE_AGGREGATORS=$owners \
        IOTASKS_HINTS=$(trim "$words") ranks "$3" "$preload" "$iotasks" "${way_words[@]}" "$4" \
        "$type:$slow/$name" "$memory/slow/$name" >"$tmp/run.json" 2>"$tmp/run.log"
    status=$?
    rm -f -- "$memory/slow/$name"
    peak='.grown_kib'
    [[ ! $owner ]] || peak=$(awk '/^VmHWM:/ { print $2 }' "/proc/${daemon_pids[owner]}/status")
    ((status == 0)) && jq -ec --arg case "$case" --arg variant "$label" --argjson ranks "$3" "
        {\$case, \$variant, \$ranks, bytes, metrics: {
            write_mb_s: (.bytes / .seconds / 1e6),
            write_close_mb_s: (.bytes / .close_seconds / 1e6),
            elapsed_mb_s: (.bytes / .close_seconds / 1e6), total_s: .close_seconds,
            peak_mb: ($peak / 1024)}}" "$tmp/run.json" >>"$samples" && return
    bench_failed "$case" "$label" "status $status: $(tail -n 5 "$tmp/run.log")"
}

# iotasks_turns CASE RANKS ELEMENTS: all variants in turn.
iotasks_turns() {
    local i variant

    for ((i = 1; i <= repeats; i++)); do
        for variant in "${variants[@]}"; do
            [[ $variant != *pnetcdf* || $with_pnetcdf ]] || continue
            bench_progress "$1, repetition $i: ${variant%%|*}"
            iotasks_run "$1" "$variant" "$2" "$3"
        done
    done
    bench_progress
}

# A million elements of a rank on 4 and 16 ranks; on 64, which share the cores, a quarter of that.
case_decomposed() {
    local n elements owner=

    iotasks_program
    variants=("ufs: two-phase | ufs | | $two | filetype 1"
        "ufs: boxes, two-phase | ufs | | $two | box 2"
        "ufs: PnetCDF, two-phase | ufs | | $two | pnetcdf 1"
        "ufs: PnetCDF, boxes | ufs | | $two | pnetcdf-box 2"
        'zcache: one daemon | zcache | 0 | | filetype 1'
        'zcache: PnetCDF | zcache | 0 | | pnetcdf 1')
    for n in 4 16 64; do
        elements=$(scaled 1M)
        ((n < 64)) || elements=$((elements / 4))
        iotasks_turns "$1: $n ranks, $elements elements each" "$n" "$elements"
    done
}

# The configurations of the paper: a serial format with one and some I/O tasks, parallel ones with
# some and without rearranging, here of 16 ranks.
case_formats() {
    local owner=

    iotasks_program
    variants=('ufs: serial, 1 I/O task | ufs | | | serial 1'
        'ufs: serial, 4 I/O tasks | ufs | | | serial 4'
        "ufs: MPI-IO, 4 I/O tasks | ufs | | $two | box 4"
        "ufs: PnetCDF, 4 I/O tasks | ufs | | $two | pnetcdf-box 4"
        "ufs: PnetCDF, no I/O tasks | ufs | | $two | pnetcdf 1"
        'zcache: MPI-IO, no I/O tasks | zcache | 0 | | filetype 1'
        'zcache: PnetCDF, no I/O tasks | zcache | 0 | | pnetcdf 1')
    iotasks_turns "$1: 16 ranks" 16 "$(scaled 512K)"
}

# Four times the cache of a dedicated aggregator, from one rank and from 64.
case_owners() {
    local n owner=109 all cache

    iotasks_program
    variants=('zcache: one owner | zcache | | | filetype 1')
    all=$(scaled 16M)
    cache=$((all * 2 < 4 << 20 ? 4 << 20 : all * 2))
    for n in 1 64; do
        start_daemon "$owner" --aggregator --root "$slow" --cache-size "$cache"
        iotasks_turns "$1: $n clients" "$n" "$((all / n))"
        stop_daemon "$owner" || bench_problem "the aggregator did not drain"
    done
}
