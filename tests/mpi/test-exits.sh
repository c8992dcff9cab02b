#!/usr/bin/env bash
# Programs that end with their file open, in every way there is.  What a process can still do is
# done: all bytes are in the file, and nothing is said.  What it cannot is reported by file: by the
# processes that go on, and by zcache run.
#
#     test-exits.sh [all]     in every mode: also the ways that take long
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"
needs_plugin "exec and MPI_Abort are met by the plugin"
export ZCACHE_ABORT_TIME=20s # of which nothing here is to need more than a moment
lazy=zcache_write_back=none  # what is not written back at the end never was

ranks=3 block=$((1 << 20)) blocks=4
job() { mpi "$ranks" "$programs/t_exits" "zcache:$root/f" "$@" $lazy >"$tmp/out" 2>&1 </dev/null; }
# One process, started by itself: its status is what a shell sees.
alone() {
    LD_PRELOAD=$sanitizer$preload timeout -k 5 "$mpi_timeout" \
        "$programs/t_exits" "zcache:$root/f" "$@" $lazy >"$tmp/out" 2>&1 </dev/null
}
said() { grep -v "is about to end" "$tmp/out"; }

# The file as ufs: leaves it, when its blocks are so many of each rank.
reference() { # RANKS BLOCKS
    local file=$tmp/ref.$1.$2 way=finalize

    [[ -e $file ]] && return
    (($2 == blocks)) || way=handler
    mpi "$1" "$programs/t_exits" "$ufs$file" "$way" >"$tmp/out" 2>&1 </dev/null
    (($(stat -c %s "$file") == $1 * $2 * block)) || fail "ufs, $way: $(cat "$tmp/out")"
}
is_whole() { # RANKS BLOCKS WHAT
    reference "$1" "$2"
    cmp -n $(($1 * $2 * block)) "$tmp/ref.$1.$2" "$root/f" ||
        fail "$3: not what was written: $(said)"
}

# A process that ends without MPI_Finalize makes Hydra end the others, and their status may be its;
# where it sees the closed connection first, it calls that a hangup.
ended() { # STATUS
    (($1 == 0 || ($1 == 9 || $1 == 137))) ||
        { (($1 == 1)) && grep -q "Hangup (signal 1)" "$tmp/out"; } ||
        { (($1 == 255)) && grep -q "KILLED BY SIGNAL: 9" "$tmp/out"; } || # Intel's Hydra
        { (($1 == 1)) && grep -qE "has exited due to process rank|exited improperly" "$tmp/out"; }
}

# all_kept WHERE WAY [BLOCKS]
all_kept() {
    local status

    job "$2"
    status=$?
    ended $status || { [[ $2 == status ]] && ((status == 5)); } || { [[ $2 == abort* ]] &&
        ((status == 9)); } || fail "$1, $2: status $status: $(said)"
    ! grep -qE " error: |lost" "$tmp/out" || fail "$1, $2: $(said)"
    is_whole "$ranks" "${3:-$blocks}" "$1, $2"
    rm -f "$root/f"
}

ways=(exit handler exec abort abortother)
[[ ${1:-} != all ]] ||
    ways+=(return finalize status quick inside early late fork execvp execfails abortall)
make_root
for n in 0 1; do
    start_daemons "$n"
    for local in true false; do
        export ZCACHE_LOCAL=$local
        some=("${ways[@]}")
        [[ $local == true || ${1:-} == all ]] || some=(exit)
        for way in "${some[@]}"; do
            if [[ $way == early || $way == late ]]; then export ZCACHE_ABORT_TIME=500ms; fi
            all_kept "$n daemons, local $local" "$way" "$([[ $way != handler ]] || echo 5)"
            ZCACHE_ABORT_TIME=20s
        done
    done
    stop_daemons || fail "$n daemons: not drained"
done
export ZCACHE_LOCAL=true

# Dedicated aggregators go on when the rank has gone that opened the file for all.
start_aggregators 1
dedicated=(finalize status)
[[ ${1:-} != all ]] || dedicated=("${ways[@]}")
for way in "${dedicated[@]}"; do
    all_kept "dedicated aggregators" "$way" "$([[ $way != handler ]] || echo 5)"
done
stop_aggregators || fail "dedicated aggregators: not drained"

# One that goes on when the owner has ended is served for a while, then hears of it; nothing hangs,
# and what was written until then is there.
for way in early late; do
    ZCACHE_ABORT_TIME=300ms all_kept "one rank ends" $way
done

# The status is the program's.
alone exit || fail "status $? of exit(0)"
is_whole 1 $blocks "alone, exit"
alone status
status=$?
((status == 5)) || fail "status $status of exit(5)"
for _ in 1 2 3; do # what the other threads use is not taken from them
    alone inside || fail "threads inside calls: status $?: $(said)"
    is_whole 1 $blocks "alone, threads inside calls"
done
alone destructor || fail "a destructor: status $?: $(said)"
is_whole 1 $((blocks + 1)) "alone, a destructor"
alone fork || fail "a child that exits: $(said)"
alone execfails || fail "exec of nothing: $(said)"

# What cannot be written back at the end is named, and makes a status of 0 one of 4.
fails() { FAULTSHIM_UNDER=$root FAULTSHIM_SWITCH=$tmp/broken preload=$faultshim:$preload alone "$@"; }
echo EIO >"$tmp/broken"
fails exit
status=$?
((status == 4)) || fail "status $status of a program whose bytes are lost: $(said)"
grep -q " error: .*$root/f.*Input/output error" "$tmp/out" || fail "not named: $(said)"
[[ $(head -n 1 "$tmp/out") == "rank 0 is about to end" || $(tail -n 1 "$tmp/out") == \
    "rank 0 is about to end" ]] || fail "what it printed: $(cat "$tmp/out")"
fails status
status=$?
((status == 5)) || fail "status $status of a program that says 5: $(said)"
rm "$tmp/broken"

# A store that does not answer: MPI_Abort takes its time and no longer, and names what it leaves;
# another thread that ends the process meanwhile does not cut that off.
: >"$tmp/hold"
for way in abort abortexit aborttwice; do
    began=$SECONDS
    FAULTSHIM_UNDER=$root FAULTSHIM_HOLD=$tmp/hold ZCACHE_ABORT_TIME=300ms \
        preload=$faultshim:$preload alone $way
    status=$?
    ((status != 0)) || fail "$way: status 0"
    ((SECONDS - began < 15)) || fail "$way took $((SECONDS - began)) s"
    grep -q " error: $root/f: $((blocks * block)) bytes within 0-.* are lost.*MPI_Abort" \
        "$tmp/out" || fail "$way: not named: $(said)"
done
rm "$tmp/hold"

# What dies at once cannot write back: zcache run says of which file, and fails.
run() {
    "$zcache" run --daemons "$1" --root "$root" --state "$tmp/state" -- \
        "$programs/t_exits" "zcache:$root/f" "${@:2}" $lazy >"$tmp/out" 2>&1 </dev/null
}
export XDG_RUNTIME_DIR=$tmp
for n in 0 1; do
    for way in _exit kill crash; do
        run $n $way && fail "$n daemons: zcache run says that all is well after $way"
        grep -q "lost: $((blocks * block)) bytes of $root/f .*process .* has disappeared" \
            "$tmp/out" || fail "$n daemons, $way: not named: $(cat "$tmp/out")"
        [[ ${1:-} == all ]] || break
    done
    run $n exit || fail "$n daemons: zcache run, exit: $(cat "$tmp/out")"
    run $n synced
    ! grep -q lost "$tmp/out" || fail "$n daemons: nothing is lost that was synced: $(cat "$tmp/out")"
done
