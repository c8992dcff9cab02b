#!/usr/bin/env bash
# Random programs against the model: without daemons, with one, with three, with hardly any
# memory, over a file system that stutters, and over one that cannot be written for a while.
#
#     test-model.sh                                       what make check runs
#     test-model.sh --long                                thousands, in an hour or so
#     test-model.sh MODE RANKS SEED[-LAST] [t_model option ...]
#                                                         these; modes: see below
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

# Pages no larger than the smallest block: see test-blocks.sh.
small=(--page-size 4K)
# Two pages: the least a cache can work with.
two=(--page-size 4K --cache-size 8K)
stutter=(FAULTSHIM_SHORT=20 FAULTSHIM_EINTR=10 FAULTSHIM_DELAY=5:2000)

# mode NAME: sets up what the name says, in a directory of its own: daemons, hints, faults.
mode() {
    local daemons=0 options=("${small[@]}")

    model_options=() faults=
    case $1 in
    *-tiny)
        options=("${two[@]}")
        model_options+=(--hints zcache_cache_size=8K)
        ;;
    *-ahead*) # reads ahead so many pages, with caches of 16
        options+=(--cache-size 64K --max-read 16K)
        options+=(--prefetch-depth "${1##*-ahead}")
        model_options+=(--hints "zcache_cache_size=64K,zcache_prefetch_depth=${1##*-ahead}")
        ;;
    *-stutter) faults=stutter ;;
    *-fabric) export ZCACHE_LOCAL=false ;; # ranks use libfabric among themselves, too
    *-broken)
        faults=broken
        model_options+=(--breaks "$root/switch")
        ;;
    esac
    case $1 in
    embedded*) ;;
    one*) daemons=1 ;;
    three*) daemons=3 ;;
    *) fail "no mode $1: it is one of embedded, one, three, alone or with -tiny, -ahead0, -ahead64, -stutter, -broken, -fabric" ;;
    esac
    if [[ $faults ]]; then
        export FAULTSHIM_UNDER=$root/file FAULTSHIM_REPORT=$tmp/faults
        export FAULTSHIM_SWITCH=$root/switch
        [[ $faults != stutter ]] || export "${stutter[@]}"
        preload=$faultshim${preload:+:$preload}
        export daemon_preload=$faultshim
    fi
    start_daemons "$daemons" "${options[@]}"
}

# Every fault that was asked for has happened.
check_faults() {
    local kind

    for kind in $(case $faults in stutter) echo short eintr delay ;; broken) echo error ;; esac); do
        grep -q "$kind [1-9]" "$tmp/faults" || fail "$1: the file system never had: $kind"
    done
}

# run MODE RANKS FIRST LAST [OPTION ...]
run() (
    name=$1 ranks=$2 first=$3 last=$4
    began=$SECONDS
    shift 4
    tmp=$tmp/$name root=$tmp/root # a subshell: what happens here is gone afterwards
    mkdir -p "$root"
    daemon_pids=() cleanup_fns=()
    trap stop_all EXIT
    mode "$name"
    mpi_timeout=$((120 + 5 * (last - first + 1)))
    mpi_quiet "$ranks" "$programs/t_model" "${model_options[@]}" "$@" \
        --again "tests/mpi/test-model.sh $name $ranks SEED${*:+ $*}" --seeds "$first-$last" \
        "zcache:$root/file" || exit 1
    stop_daemons || fail "$name: not drained"
    check_faults "$name"
    echo "$name: $ranks ranks, seeds $first to $last, $((SECONDS - began)) s"
)

stop_all() {
    local pid

    for pid in "${daemon_pids[@]}"; do
        [[ -z $pid ]] || kill -KILL "$pid" 2>/dev/null
    done
}

# all FACTOR: every mode; what costs a launch is paid once for many seeds.  What failed is said
# at the end, where somebody who sees the last lines only looks.
all() {
    local line

    while read -r -a line; do
        run "${line[0]}" "${line[1]}" 1 $((line[2] * $1)) 2>"$tmp/errors" || {
            failed=1
            cat "$tmp/errors" >>"$tmp/failures"
        }
        cat "$tmp/errors" >&2
    done <<'END'
embedded 1 200
embedded 3 40
embedded 8 6
one 1 100
one 4 15
three 1 60
three 5 10
embedded-fabric 4 12
three-fabric 4 6
embedded-tiny 2 60
one-tiny 3 15
three-tiny 2 15
embedded-ahead64 3 12
one-ahead0 1 10
one-ahead1 2 8
one-ahead64 3 8
three-ahead64 4 4
embedded-stutter 3 20
one-stutter 2 15
embedded-broken 2 40
one-broken 1 60
one-broken 3 10
three-broken 2 12
END
}

make_tmp
failed=0
case ${1:-} in
'') all 1 ;;
--long) all 20 ;;
*)
    (($# >= 3)) || { sed -n '2,/^set/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2; }
    run "$1" "$2" "${3%-*}" "${3#*-}" "${@:4}" || failed=1
    ;;
esac
[[ ! -s $tmp/failures ]] || cat "$tmp/failures" >&2
exit "$failed"
