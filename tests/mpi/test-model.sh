#!/usr/bin/env bash
# Random programs against the model: without daemons, with one, with three, with hardly any
# memory, over a file system that stutters, and over one that cannot be written for a while.
#
#     test-model.sh                                       what make check runs
#     test-model.sh --long                                thousands, in an hour or so
#     test-model.sh --next               what zcache does not do yet: make check-next
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

    model_options=() faults= prefix=zcache launches=(all)
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
    *-opens-waits) model_options+=(--opens 5 --no-barriers) ;;
    *-opens) model_options+=(--opens 5) ;;
    *-waits) model_options+=(--no-barriers) ;;
    *-maps) model_options+=(--irregular --max-file 1000000 --ops 20) ;;
    *-moving) # from launch to launch, with other daemons each time
        model_options+=(--keep --ops 15)
        launches=("0 1 2" 1 "" "2 0" "0 1 2")
        ;;
    esac
    case $1 in
    ufs*) # the reference
        model_options+=(--strict)
        prefix=ufs
        ;;
    embedded*) ;;
    one*) daemons=1 ;;
    three*) daemons=3 ;;
    *) fail "no mode $1: it is one of embedded, one, three, ufs, alone or with -tiny, -ahead0, -ahead64, -stutter, -broken, -fabric, -opens, -waits, -opens-waits, -maps, -moving" ;;
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

# use_daemons DAEMON ...: those that programs use from now on, of those there are.
use_daemons() {
    local i list=

    for i; do list+=${list:+,}$tmp/$i.addr; done
    if (($#)); then export ZCACHE_DAEMONS=$list; else unset ZCACHE_DAEMONS; fi
}

# launch RANKS FIRST LAST [OPTION ...]
launch() {
    mpi_quiet "$1" "$programs/t_model" "${model_options[@]}" "${@:4}" \
        --again "tests/mpi/test-model.sh $name $1 SEED${4:+ ${*:4}}" --seeds "$2-$3" \
        "$prefix:$root/file"
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
    for daemons in "${launches[@]}"; do
        # shellcheck disable=SC2086 # numbers
        [[ $daemons == all ]] || use_daemons $daemons
        launch "$ranks" "$first" "$last" "$@" || exit 1
    done
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

# all FACTOR: the modes on stdin, each with ranks and seeds; what costs a launch is paid once for
# many seeds.  What failed is said at the end, where somebody who sees the last lines only looks.
all() {
    local line

    while read -r -a line; do
        run "${line[0]}" "${line[1]}" 1 $((line[2] * $1)) 2>"$tmp/errors" || {
            failed=1
            cat "$tmp/errors" >>"$tmp/failures"
        }
        cat "$tmp/errors" >&2
    done
}

today() {
    cat <<'END'
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
ufs-waits 3 10
embedded-waits 2 30
embedded-waits 4 15
three-waits 3 10
embedded-maps 3 6
three-maps 4 4
three-moving 1 10
three-moving 3 6
ufs-opens 1 40
ufs-opens 4 40
ufs-opens-waits 4 40
embedded-opens 1 60
embedded-opens 2 30
embedded-opens 4 20
one-opens 3 10
three-opens 4 10
embedded-opens-waits 4 20
three-opens-waits 4 10
END
}

# The same programs over ufs:, too: where they fail there the test is wrong.
next() {
    cat <<'END'
END
}

make_tmp
failed=0
case ${1:-} in
'') all 1 < <(today) ;;
--long) all 20 < <(today) ;;
--next) all 1 < <(next) ;;
*)
    (($# >= 3)) || { sed -n '2,/^set/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2; }
    run "$1" "$2" "${3%-*}" "${3#*-}" "${@:4}" || failed=1
    ;;
esac
[[ ! -s $tmp/failures ]] || cat "$tmp/failures" >&2
exit "$failed"
