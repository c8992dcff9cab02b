# seeds_iotasks.sh - cases of seeds.sh: decomposed arrays by way of I/O tasks, or without (PIO).
# Sourced by seeds.sh, which has the store and the daemon.
#
# A variant is a line as in functions.sh, whose last column is the way and the number of I/O tasks
# of bench/iotasks.  The program is compiled with PnetCDF and netCDF-4 where tests/docs/library has
# made them; else the variants of the one that is missing are left out, with the reason.
# shellcheck shell=bash disable=SC2034,SC2154 # variants, opt, slow, two
iotasks=
left_out=

# Sets $iotasks, and $left_out to the ways that it does not have; once.
iotasks_program() {
    local dir with=() more=()

    [[ ! $iotasks ]] || return 0
    iotasks=$build/tests/bench/iotasks
    if dir=$(made_library pnetcdf); then
        with+=(-DWITH_PNETCDF "-I$dir/include" "-L$dir/lib" -lpnetcdf)
    else
        left_out+=' pnetcdf'
    fi
    if dir=$(made_library netcdf); then
        read -ra more <<<"$("$dir/bin/nc-config" --cflags) $("$dir/bin/nc-config" --libs)"
        with+=(-DWITH_NETCDF4 "${more[@]}")
    else
        left_out+=' netcdf4'
    fi
    if ((${#with[@]} == 0)); then
        :
    elif "${MPICC:-$(command -v mpicc.mpich || echo mpicc)}" -O2 -DHAVE_CONFIG_H "-I$build" \
        "$bench_dir/iotasks.c" -o "$tmp/iotasks" "${with[@]}" -lm >"$tmp/iotasks.log" 2>&1; then
        iotasks=$tmp/iotasks
    else
        left_out=' pnetcdf netcdf4'
        bench_problem "iotasks does not compile with libraries: $(tail -n 1 "$tmp/iotasks.log")"
    fi
    [[ ! $left_out ]] ||
        echo "$bench_name: variants left out, for which tests/docs/library makes pnetcdf and" \
            "netcdf:$left_out" >&2
}

# is_left_out VARIANT
is_left_out() {
    local way

    for way in $left_out; do
        [[ $1 != *"| $way"* ]] || return 0
    done
    return 1
}

# iotasks_run CASE VARIANT RANKS ELEMENTS: the peak is of a rank; owner_mb of the owner $owner.
iotasks_run() {
    local case=$1 label type daemon words way owner_kib=null status name=data.$RANDOM preload=''
    local owners='' way_words=()

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
    [[ ! $owner ]] ||
        owner_kib=$(awk '/^VmHWM:/ { print $2 }' "/proc/${daemon_pids[owner]}/status")
    ((status == 0)) && jq -ec --arg case "$case" --arg variant "$label" --argjson ranks "$3" \
        --argjson owner_kib "$owner_kib" '{$case, $variant, $ranks, bytes, metrics: ({
            write_mb_s: (.bytes / .seconds / 1e6),
            write_close_mb_s: (.bytes / .close_seconds / 1e6),
            elapsed_mb_s: (.bytes / .close_seconds / 1e6), total_s: .close_seconds,
            peak_mb: (.grown_kib / 1024), threads_s: .threads_seconds}
            + if $owner_kib then {owner_mb: ($owner_kib / 1024)} else {} end)}' \
        "$tmp/run.json" >>"$samples" && return
    bench_failed "$case" "$label" "status $status: $(tail -n 5 "$tmp/run.log")"
}

# iotasks_turns CASE RANKS ELEMENTS: all variants in turn.
iotasks_turns() {
    local i variant

    for ((i = 1; i <= repeats; i++)); do
        for variant in "${variants[@]}"; do
            ! is_left_out "$variant" || continue
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
        "ufs: netCDF-4, boxes | ufs | | $two | netcdf4-box 2"
        'zcache: one daemon | zcache | 0 | | filetype 1'
        'zcache: PnetCDF | zcache | 0 | | pnetcdf 1'
        'zcache: netCDF-4, boxes | zcache | 0 | | netcdf4-box 2')
    searched 'filetype 1'
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
        "ufs: netCDF-4, 4 I/O tasks | ufs | | $two | netcdf4-box 4"
        'zcache: MPI-IO, no I/O tasks | zcache | 0 | | filetype 1'
        'zcache: PnetCDF, no I/O tasks | zcache | 0 | | pnetcdf 1'
        'zcache: netCDF-4, 4 I/O tasks | zcache | 0 | | netcdf4-box 4')
    iotasks_turns "$1: 16 ranks" 16 "$(scaled 512K)"
}

# Four times the cache of a dedicated aggregator, from one rank, from 16 and from 64; and the same
# where a rank has that cache, or none.
case_owners() {
    local n i times=$repeats repeats=1 owner all cache

    iotasks_program
    all=$(scaled 16M)
    cache=$((all * 2 < 4 << 20 ? 4 << 20 : all * 2))
    for n in 1 16 64; do
        for ((i = 1; i <= times; i++)); do
            owner=109 # a new one each time, whose peak is of this run
            variants=('zcache: one owner | zcache | | | filetype 1')
            start_daemon "$owner" --aggregator --root "$slow" --cache-size "$cache"
            iotasks_turns "$1: $n clients" "$n" "$((all / n))"
            stop_daemon "$owner" || bench_problem "the aggregator did not drain"
            owner=
            variants=("zcache: embedded, one aggregator | zcache | | cb_nodes=1 \
                zcache_cache_size=$cache | filetype 1"
                "ufs: two-phase | ufs | | $two | filetype 1")
            iotasks_turns "$1: $n clients" "$n" "$((all / n))"
        done
    done
}
