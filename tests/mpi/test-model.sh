#!/usr/bin/env bash
# Random programs against the model: without daemons, with one, with three, with very little memory,
# over a file system that stutters, and over one that cannot be written for a while.
#
#     test-model.sh                                       what make check runs: of each mode
#                                                         two seeds, or a third of them if more
#     test-model.sh --all                                 the seeds of each mode, for check-long
#     test-model.sh --next               what zcache cannot do yet: make check-next
#     test-model.sh --broken-today       the words of such modes
#     test-model.sh MODE RANKS SEED[-LAST] [t_model option ...]
#                                                         these; modes: see below
#
# A MODE is a place, and words that may be combined:
#     embedded one two three    so many daemons; ufs: the reference
#     -tiny -page16K -cache64K  two pages in each cache; others
#     -ahead4                   reads ahead so many pages, with caches of 16
#     -dedicated2               so many dedicated aggregators own all blocks, and no rank
#     -fabric                   ranks use libfabric among themselves and to daemons
#     -sums                     transfers and caches have checksums
#     -direct                   daemons read and write past the page cache
#     -stutter -broken          the file system does, or cannot be written for a while
#     -opens -waits             several opens; collective reads right behind writes, no barrier
#     -maps -budget1            views of thousands of pieces; of more, with so many percent of
#                               1 MiB for them
#     -moving                   five launches that use the same file, with other daemons each
#     -plan7                    some launches, of other ranks and daemons, as drawn from 7;
#                               plan0: {a}, {a,b}, {a}, {b}, {a,b,c}, none, {a}
#     -killed                   every launch but the last one is killed in the end
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

# Words for what zcache cannot do yet: modes with one of them are left to --next.
broken_today=

stutter=(FAULTSHIM_SHORT=20 FAULTSHIM_EINTR=10 FAULTSHIM_DELAY=5:2000)

# mode NAME: sets up the mode in a directory of its own: daemons, hints, faults.
mode() {
    local where=${1%%-*} word words

    daemons=0 aggregators=0 faults= prefix=zcache launches=() kills= drawn=1 model_options=()
    # Pages no larger than the smallest block: see test-blocks.sh.
    daemon_options=(--page-size 4K)
    case $where in
    ufs)
        model_options+=(--strict)
        prefix=ufs
        ;;
    embedded) ;;
    one) daemons=1 ;;
    two) daemons=2 ;;
    three) daemons=3 ;;
    *) fail "no mode $1: $where is none of embedded, one, two, three, ufs" ;;
    esac
    read -r -a words <<<"$(tr - ' ' <<<"${1#"$where"}")"
    for word in "${words[@]}"; do mode_word "$word"; done
    # Two pages, one of them refused, have no room for what a ring has acknowledged before: without
    # rings (doc/ARCHITECTURE.md, "A small write by ring").
    [[ $faults != broken || " ${words[*]} " != *" tiny "* ]] || export ZCACHE_LOCAL=false
    [[ $kills != yes || ${launches[*]} ]] || launches=("$(everyone)" "$(everyone)" "$(everyone)")
    if [[ $faults ]]; then
        export FAULTSHIM_UNDER=$root/file FAULTSHIM_REPORT=$tmp/faults
        export FAULTSHIM_SWITCH=$root/switch
        [[ $faults != stutter ]] || export "${stutter[@]}"
        preload=$faultshim${preload:+:$preload}
        export daemon_preload=$faultshim
    fi
    start_daemons "$daemons" "${daemon_options[@]}"
    start_aggregators "$aggregators" "${daemon_options[@]}"
}

mode_word() {
    local number=${1##*[a-z]}

    case $1 in
    tiny) # two pages: the least a cache can work with
        daemon_options+=(--cache-size 8K)
        model_options+=(--hints zcache_cache_size=8K)
        ;;
    page*) daemon_options+=(--page-size "${1#page}") ;;
    cache*)
        daemon_options+=(--cache-size "${1#cache}")
        model_options+=(--hints "zcache_cache_size=${1#cache}")
        ;;
    ahead*)
        daemon_options+=(--cache-size 64K --max-read 16K --prefetch-depth "$number")
        model_options+=(--hints "zcache_cache_size=64K,zcache_prefetch_depth=$number")
        ;;
    dedicated*) aggregators=$number ;;
    direct) daemon_options+=(--direct-io) ;;
    stutter) faults=stutter ;;
    fabric) export ZCACHE_LOCAL=false ;;
    sums) model_options+=(--hints zcache_checksum=on) ;;
    broken)
        faults=broken
        model_options+=(--breaks "$root/switch")
        ;;
    opens) model_options+=(--opens 5) ;;
    waits) model_options+=(--no-barriers) ;;
    maps) model_options+=(--irregular 6000 --max-file 1000000 --ops 20) ;;
    budget*)
        model_options+=(--irregular 400000 --max-file 2000000 --ops 20)
        ! knows view_memory || model_options+=(--hints "zcache_view_memory=$number%")
        model_options+=(--hints zcache_cache_size=1M)
        ;;
    moving)
        model_options+=(--keep --ops 15)
        launches=("0 1 2" 1 "" "2 0" "0 1 2")
        ;;
    plan*)
        model_options+=(--keep --ops 15)
        draw_plan "$number"
        ;;
    killed)
        model_options+=(--keep --ops 15)
        # Long enough for the next job to meet the remains of this one, short enough to wait for.
        daemon_options+=(--timeout 10s)
        kills=yes
        ;;
    *) fail "no mode with -$1: see ${BASH_SOURCE[0]}" ;;
    esac
}

everyone() { ((daemons == 0)) || seq -s ' ' 0 $((daemons - 1)); }

# knows OPTION: whether this build has it.
knows() { grep -aqsP "\\0$1\\0" "${plugin:-$zcached}"; }

# draw_plan N: draws launches and their daemons, any of them in any order.  Plan 0 has every change
# that has ever failed.
draw_plan() {
    local n i k daemon set

    drawn=$(($1 * 7919 + 1)) launches=()
    if (($1 == 0)); then
        for set in 0 "0 1" 0 1 "0 1 2" "" 0; do
            [[ ! $set ]] || ((${set##* } < daemons)) || continue
            launches+=("$set")
        done
        return
    fi
    pick 4
    n=$((picked + 3))
    for ((i = 0; i < n; i++)); do
        set=
        pick $((daemons + 1)) # the first one
        k=$picked
        for ((; k < daemons; k++)); do
            daemon=$k
            pick 3
            ((picked)) || continue
            pick 2
            if ((picked)); then set+=${set:+ }$daemon; else set=$daemon${set:+ $set}; fi
        done
        launches+=("$set")
    done
}

# use_daemons DAEMON ...: the daemons that programs use from now on.
use_daemons() {
    local i list=

    for i; do list+=${list:+,}$tmp/$i.addr; done
    if (($#)); then export ZCACHE_DAEMONS=$list; else unset ZCACHE_DAEMONS; fi
}

# launch RANKS FIRST LAST [OPTION ...]
launch() {
    stretch 60
    mpi_quiet "$1" "$programs/t_model" --hang "$stretched" "${model_options[@]}" \
        "${@:4}" --again "$again" --seeds "$2-$3" "$prefix:$root/file"
}

# launch_killed RANKS FIRST LAST [OPTION ...]: kills the ranks and their launcher, in any order.
launch_killed() {
    local job pids

    rm -f "$tmp/pids"
    launch "$@" --killed "$tmp/pids" 2>"$tmp/killed.log" &
    job=$!
    wait_for "$mpi_timeout" told_or_gone "$job"
    if [[ ! -e $tmp/pids ]]; then
        wait "$job"
        cat "$tmp/killed.log" >&2
        return 1
    fi
    mapfile -t pids <"$tmp/pids"
    pids+=("$(parent "${pids[0]}")") # hydra's proxy of this host, and mpiexec
    pids+=("$(parent "${pids[-1]}")")
    # shellcheck disable=SC2046 # one process in a line
    kill -KILL $(shuf -e "${pids[@]}" --random-source=<(yes "$2")) 2>/dev/null
    wait "$job"
    return 0
}

told_or_gone() { [[ -e $tmp/pids ]] || gone "$1"; }
parent() { sed -n 's/^PPid:\t//p' "/proc/$1/status"; }

# Staged bytes of a killed job reach the file, or the file is about to be replaced.
after_kill() {
    pick 2
    replaced=()
    if ((picked)); then
        replaced=(--replaced)
    elif [[ ${ZCACHE_DAEMONS:-} ]]; then
        "$zcachectl" --daemons "$ZCACHE_DAEMONS" flush >"$tmp/flush" 2>&1 ||
            { cat "$tmp/flush" >&2; return 1; }
    fi
}

# Every requested fault has happened, if there was time for it.
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
    # A subshell, so that all changes end with it.  Errors have room for short paths only.
    tmp=$(mktemp -d "$tmp/XXX") root=$tmp/root
    mkdir "$root"
    daemon_pids=() cleanup_fns=()
    trap stop_all EXIT
    mode "$name"
    again="tests/mpi/test-model.sh $name $ranks SEED${*:+ $*}"
    mpi_timeout=$((120 + 5 * (last - first + 1)))
    if ((${#launches[@]} == 0)); then
        launch "$ranks" "$first" "$last" "$@" || exit 1
    else
        launch_all "$ranks" "$first" "$last" "$@" || exit 1
    fi
    stop_daemons || fail "$name: not drained"
    ((last - first < 4)) || check_faults "$name"
    echo "$name: $ranks ranks, seeds $first to $last, $((SECONDS - began)) s"
)

# launch_all RANKS FIRST LAST [OPTION ...]: one after the other; the first and last of all ranks.
launch_all() {
    local i how n last_launch=$((${#launches[@]} - 1)) used
    local replaced=()

    for ((i = 0; i <= last_launch; i++)); do
        used=${launches[i]} n=$1 how=launch
        # shellcheck disable=SC2086 # numbers
        use_daemons $used
        [[ ! $kills ]] || ((i == last_launch)) || how=launch_killed
        if ((i && i < last_launch)); then
            pick "$1"
            n=$((picked + 1))
        fi
        "$how" "$n" "${@:2}" "${replaced[@]}" || {
            echo "  in launch $((i + 1)) of ${#launches[@]}, $n ranks, daemons: ${used:-none}" >&2
            return 1
        }
        replaced=()
        if [[ $how == launch_killed ]]; then
            after_kill || return 1
            [[ ${launches[i + 1]} == "$used" ]] || forget_sessions || return 1
        fi
    done
}

# The next job uses other daemons: the file counts as open until the current ones have noticed that
# the last job is gone.
forget_sessions() {
    local i

    for ((i = 0; i < daemons; i++)); do
        wait_for 60 no_sessions "$i" || { echo "daemon $i: sessions are left" >&2; return 1; }
    done
}
no_sessions() { [[ $(stat_of "$1" sessions) == 1 ]]; } # zcachectl's own

stop_all() {
    local pid

    for pid in "${daemon_pids[@]}"; do
        [[ -z $pid ]] || kill -KILL "$pid" 2>/dev/null
    done
}

# all: runs the modes on stdin, each with ranks and seeds; the cost of a launch is paid once for
# many seeds.  Failures are repeated at the end, for readers of the last lines.
all() {
    local line

    while read -r -a line; do
        run "${line[0]}" "${line[1]}" 1 "${line[2]}" 2>"$tmp/errors" || {
            if met_another_mpiexec "$tmp/errors"; then
                echo "${line[0]}: once more: mpiexec met another one"
                run "${line[0]}" "${line[1]}" 1 "${line[2]}" 2>"$tmp/errors" && continue
            fi
            failed=1
            cat "$tmp/errors" >>"$tmp/failures"
        }
        cat "$tmp/errors" >&2
    done
}

# of_next yes|no: those modes on stdin that zcache cannot do yet, or can.
of_next() {
    local invert=-v

    [[ $1 == no ]] || invert=
    if [[ ! $broken_today ]]; then
        [[ $1 == yes ]] || cat
        return
    fi
    # shellcheck disable=SC2086 # an option or none
    grep -E $invert -e "-(${broken_today// /|})[0-9]*(-| )"
}

# fewer: a third of the seeds of the modes on stdin, at least two.
fewer() {
    awk '{ print $1, $2, $3 <= 6 ? 2 : int(($3 + 2) / 3) }'
}

# The same programs also run over ufs:, where a failure means that the test is wrong.  A few seeds
# of each mode: make check-model-long runs any number.
modes() {
    if [[ $reference ]]; then all_modes; else all_modes | grep -v '^ufs'; fi
}

all_modes() {
    cat <<'END'
embedded 1 30
embedded 3 6
embedded 8 2
one 1 15
one 4 4
three 1 8
three 5 3
embedded-fabric 4 3
three-fabric 4 2
embedded-tiny 2 8
one-tiny 3 5
three-tiny 2 5
one-page64K-direct 2 8
embedded-ahead64 3 4
one-ahead0 1 4
one-ahead1 2 4
one-ahead64 3 4
three-ahead64 4 3
embedded-stutter 3 5
one-stutter 2 5
embedded-broken 2 10
one-broken 1 8
one-broken 3 4
three-broken 2 4
ufs-waits 3 4
embedded-waits 2 7
embedded-waits 4 5
three-waits 3 4
embedded-maps 3 4
three-maps 4 3
embedded-sums-maps 3 3
two-sums-fabric 3 2
ufs-budget 2 2
embedded-budget0 4 2
two-budget1-waits 3 2
three-moving 1 3
three-moving 3 3
ufs-opens 1 10
ufs-opens 4 10
ufs-opens-waits 4 10
embedded-opens 1 8
embedded-opens 2 7
embedded-opens 4 5
one-opens 3 4
three-opens 4 3
embedded-opens-waits 4 5
three-opens-waits 4 3
ufs-plan1-opens-waits-killed 3 4
three-plan0 2 4
two-plan1 3 4
three-plan2-fabric 2 2
embedded-dedicated2-opens 3 3
two-dedicated3 3 3
one-dedicated2-broken 3 3
embedded-dedicated1-killed 2 2
embedded-killed 2 4
one-killed 3 4
one-killed-fabric 2 2
three-plan3-killed-fabric-waits 3 2
three-plan4-killed-waits-maps 3 2
three-plan5-killed-opens-waits 4 3
END
}

make_tmp
failed=0
case ${1:-} in
'') all < <(modes | of_next no | fewer) ;;
--all) all < <(modes | of_next no) ;;
--next) all < <(modes | of_next yes) ;;
--broken-today) echo "$broken_today" ;;
*)
    (($# >= 3)) || { sed -n '2,/^set/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2; }
    run "$1" "$2" "${3%-*}" "${3#*-}" "${@:4}" || failed=1
    ;;
esac
[[ ! -s $tmp/failures ]] || cat "$tmp/failures" >&2
exit "$failed"
