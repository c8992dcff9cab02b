#!/usr/bin/env bash
# Thousands of random programs against the model, over everything test-model.sh has words for:
# where, ranks, caches, faults, opens and launches are drawn for each batch of seeds, from its
# number.  As many batches at a time as there are cores.
#
#     test-model-long.sh [FIRST-LAST]      these seeds (1-10000), in this order
#     test-model-long.sh --list [FIRST-LAST]       what would be run
#     test-model-long.sh --shrink MODE RANKS SEED [FIRST]     a smaller run that fails, too
#
# The first batch that fails is the last one: what is said then replays it, and a smaller one where
# there is one.  What is left to do is said, too, also after an interrupt.
# JOBS: at a time; BATCH: seeds of a launch (20); NEXT=1: also what zcache does not do yet;
# SHRINK: seconds that may take (600; 0: it is left).
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

model=$(dirname -- "${BASH_SOURCE[0]}")/test-model.sh
batch=${BATCH:-20}
jobs=${JOBS:-$(nproc)}

# one_of WORD ...: adds one to the mode; "" is none.
one_of() {
    local word

    pick $#
    word=${*:picked+1:1}
    [[ ! $word || $word =~ ^(${leave_out// /|}) ]] || mode+=-$word
}

# configure N: what batch number N is run as: $mode and $ranks.
configure() {
    drawn=$(($1 * 7919 + 11))
    pick 8
    mode=$(cut -d ' ' -f $((picked + 1)) <<<"embedded embedded one one one two two three")
    pick 6
    ranks=$((picked + 1))
    one_of "" "" fabric
    one_of "" "" tiny page16K page64K cache64K page16K-cache128K ahead1 ahead64
    one_of "" waits
    one_of "" "" "" "" "" maps
    [[ $mode == *-tiny* || $mode == *-maps* ]] || one_of "" "" "" "" "" "" budget0 budget1
    one_of "" "" "" opens
    one_of "" "" "plan$1"
    one_of "" "" "" killed
    # A file that cannot be written has a quarter of the cache, and then its writers get the error.
    [[ $mode =~ -(opens|killed|budget|tiny|cache|ahead) ]] || one_of "" "" "" "" "" "" broken
    [[ $mode == *-broken* ]] || one_of "" "" "" "" "" "" stutter
    one_of "" "" "" sums
    [[ $mode == embedded* ]] || one_of "" "" "" direct
}

# seeds_of N: of batch number N, those that are asked for, as FIRST-LAST.
seeds_of() {
    local from=$(($1 * batch + 1)) to=$((($1 + 1) * batch))

    echo "$((from > first ? from : first))-$((to < last ? to : last))"
}

run_batch() { "$model" "$2" "$3" "$4" >"$tmp/$1.log" 2>&1 </dev/null; }

# ---- how far it is ----

progress() {
    local spent=$((SECONDS - began)) line

    line="$done_seeds of $((last - first + 1)) seeds, $((done_seeds * 60 / (spent ? spent : 1))) a minute"
    if [[ -t 1 ]]; then
        printf '\r%s: %s\033[K' "$line" "$1"
    elif ((done_seeds >= next_line)); then
        echo "$line"
        next_line=$((done_seeds + 500))
    fi
}

# The first batch that has not been run, or not to its end, is where to go on.
left_to_do() {
    local n

    for ((n = (first - 1) / batch; n * batch < last; n++)); do
        [[ ${finished[n]:-} ]] || { seeds_of "$n" | sed "s/-.*/-$last/"; return; }
    done
}

interrupted() {
    trap '' INT TERM # what is asked here is answered, also when the signal comes twice
    echo
    ((${#running[@]} == 0)) || kill "${!running[@]}" 2>/dev/null
    echo "interrupted; to go on: SEEDS=$(left_to_do)"
    exit 130
}

# One batch has ended; returns whether it was good.
one_ended() {
    local pid status n

    wait -n -p pid "${!running[@]}"
    status=$?
    n=${running[$pid]}
    unset "running[$pid]"
    if ((status)); then
        bad=${bad:-$n}
        return 1
    fi
    finished[n]=1
    rm -f "$tmp/$n.log"
    done_seeds=$((done_seeds + sizes[n]))
    progress "batch $n"
}

run_all() {
    local n

    for ((n = (first - 1) / batch; n * batch < last; n++)); do
        while ((${#running[@]} >= jobs)); do one_ended || return 1; done
        configure "$n"
        seeds=$(seeds_of "$n")
        sizes[n]=$((${seeds#*-} - ${seeds%-*} + 1))
        run_batch "$n" "$mode" "$ranks" "$seeds" &
        running[$!]=$n
    done
    while ((${#running[@]})); do one_ended || return 1; done
}

# ---- a smaller one that fails, too ----

# fails MODE RANKS SEEDS [OPTION ...]: in one of two runs; what is seen once may not be seen again.
fails() {
    local i

    for i in 1 2; do
        ((SECONDS < shrink_until)) || return 1
        "$model" "$@" >"$tmp/shrink.log" 2>&1 </dev/null && continue
        grep -q 'FAILED\|HANGS' "$tmp/shrink.log" || continue
        cp "$tmp/shrink.log" "$tmp/smallest.log"
        smallest=("$@")
        return 0
    done
    return 1
}

shrink_seeds() { # what went before may be needed, or some of it
    local from=$4

    fails "$1" "$2" "$3" && return
    fails "$1" "$2" "$from-$3" || return
    while ((from < $3)) && fails "$1" "$2" "$(((from + $3 + 1) / 2))-$3"; do
        from=$(((from + $3 + 1) / 2))
    done
}

shrink_words() {
    local word without

    for word in $(tr - ' ' <<<"${smallest[0]#*-}"); do
        without=${smallest[0]/-$word/}
        [[ $without == "${smallest[0]}" ]] || fails "$without" "${smallest[@]:1}" || :
    done
}

shrink_ranks() {
    while ((smallest[1] > 1)) &&
        fails "${smallest[0]}" $((smallest[1] - 1)) "${smallest[@]:2}"; do :; done
}

# A failure is none of the steps after it; with several launches, of none before the last either.
shrink_steps() {
    local least=1 most=15 middle

    [[ ${smallest[0]} =~ -(plan|killed|moving) ]] ||
        most=$(sed -n 's/.*: seed [0-9]*, step \([0-9]*\):.*/\1/p' "$tmp/smallest.log" | head -n 1)
    [[ $most ]] && fails "${smallest[@]}" --ops "$most" || return
    while ((least < most)); do
        middle=$(((least + most) / 2))
        if fails "${smallest[@]:0:3}" --ops "$middle"; then most=$middle; else least=$((middle + 1)); fi
    done
}

# shrink MODE RANKS SEED FIRST
shrink() {
    smallest=()
    shrink_until=$((SECONDS + ${SHRINK:-600}))
    shrink_seeds "$@"
    if ((${#smallest[@]} == 0)); then
        echo "it is not seen again: in two runs of the seed, and two of the seeds before it, too"
        return
    fi
    shrink_words
    shrink_ranks
    [[ ${smallest[2]} == *-* ]] || shrink_steps
    echo "the least that fails, too:"
    echo "    tests/mpi/test-model.sh ${smallest[*]}"
    grep -v '^\[' "$tmp/smallest.log" | head -n 20
}

# tell N: what batch N said.
tell() {
    local seed seeds

    configure "$1"
    seeds=$(seeds_of "$1")
    echo
    cat "$tmp/$1.log"
    echo "FAILED: batch $1: tests/mpi/test-model.sh $mode $ranks $seeds"
    echo "to go on: SEEDS=$(left_to_do)"
    seed=$(sed -n 's/.*: seed \([0-9]*\), step .*/\1/p' "$tmp/$1.log" | head -n 1)
    [[ ${SHRINK:-} == 0 ]] || shrink "$mode" "$ranks" "${seed:-${seeds#*-}}" "${seeds%-*}"
}

list() {
    local n

    for ((n = (first - 1) / batch; n * batch < last; n++)); do
        configure "$n"
        echo "$mode $ranks $(seeds_of "$n")"
    done
}

make_tmp
leave_out=none
[[ ${NEXT:-} ]] || leave_out=$("$model" --broken-today)
leave_out=${leave_out:-none}
if [[ ${1:-} == --shrink ]]; then
    shrink "$2" "$3" "$4" "${5:-$4}"
    exit
fi
only_list=
[[ ${1:-} != --list ]] || { only_list=yes; shift; }
range=${1:-${SEEDS:-1-10000}}
first=${range%-*} last=${range#*-}
[[ $first =~ ^[1-9][0-9]*$ && $last =~ ^[1-9][0-9]*$ ]] || fail "no range of seeds: $range"
[[ ! $only_list ]] || { list; exit; }
declare -A running=()
finished=() sizes=() bad='' done_seeds=0 next_line=500 began=$SECONDS
trap interrupted INT TERM
run_all || {
    while ((${#running[@]})); do one_ended; done # they end by themselves
    tell "$bad"
    exit 1
}
spent=$((SECONDS > began ? SECONDS - began : 1))
[[ ! -t 1 ]] || echo
echo "$done_seeds seeds in $spent s, $((done_seeds * 60 / spent)) a minute, none failed"
