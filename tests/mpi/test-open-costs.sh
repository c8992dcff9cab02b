#!/usr/bin/env bash
# What an open and a close of a file cost, counted: calls that open, look for or lock files or start
# threads, collective calls of the driver, messages to a daemon; and what starting libfabric costs a
# process. Each count is the difference of two runs, which open 10 and 30 files, for each file. The
# limits are what it takes today: one more is a decision, not an accident.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"
needs_plugin "calls are counted in front of it"

small=$build/tests/bench/small
countshim=$build/tests/.libs/countshim.so
[[ -e $countshim && -x $small ]] || fail "no $countshim or $small"
make_root
# Of what an open looks for above the file, it depends on how deep this is.
above=$(tr -cd / <<<"$root" | wc -c)

# run MODE FILES: counters are in $tmp/count.RANK, messages in $tmp/log.
run() {
    rm -rf -- "${root:?}"/* "$tmp"/count.*
    preload=$countshim:$preload COUNTSHIM_OUT=$tmp/count \
        mpi 2 "$small" "$1" "zcache:$root/f" 64 "$2" >"$tmp/out" 2>"$tmp/log" </dev/null ||
        fail "$1, $2 files: $(tail -n 5 "$tmp/log")"
}

# per_file MODE: ${cost[COUNTER.RANK]} and ${cost[messages]}, for each of 20 files.
declare -A cost before
per_file() {
    local key

    run "$1" 10
    counted
    for key in "${!cost[@]}"; do before[$key]=${cost[$key]}; done
    run "$1" 30
    counted
    for key in "${!cost[@]}"; do cost[$key]=$(((cost[$key] - before[$key] + 10) / 20)); done
}

counted() {
    local name value rank

    cost=()
    for rank in 0 1; do
        [[ -s $tmp/count.$rank ]] || fail "nothing was counted in rank $rank"
        while read -r name value; do cost[$name.$rank]=$value; done <"$tmp/count.$rank"
    done
    cost[messages]=$(sent)
}
sent() { grep -cE 'trace: > [A-Z]' "$tmp/log"; }

# limit WHERE COUNTER MOST
limit() {
    ((${cost[$2]} <= $3)) && return
    echo "FAILED: $1: $2 for each file: ${cost[$2]}, and at most $3"
    failed=1
}

failed=0
# ---- embedded ----
for mode in files held; do
    per_file "$mode"
    # The file, after a look whether it is there, and a root's record above it.
    limit "embedded, $mode" opens.0 $((3 + above))
    limit "embedded, $mode" opens.1 0
    limit "embedded, $mode" statfs.0 1
    limit "embedded, $mode" unlinks.0 0 # no rendezvous record: the whole job opens the file
    limit "embedded, $mode" locks.0 2 # of what is written
    # Open: which ranks can take part, what rank 0 has found and opened; close: its outcome.
    for rank in 0 1; do
        limit "embedded, $mode" "rounds.$rank" 3
        limit "embedded, $mode" "stats.$rank" 1 # the network's namespace: is the rank near?
        ((${cost[stats.$rank]} == 1)) || fail "stat() is not counted"
        limit "embedded, $mode" "processors.$rank" 0
        limit "embedded, $mode" "threads.$rank" 0
    done
done

# ---- a daemon ----
start_daemons 1
export ZCACHE_LOG=trace
per_file held
# OPEN, FLUSH, CLOSE.
limit 'one daemon, held' messages 3
limit 'one daemon, held' rounds.0 3
# The same, and WRITE.
per_file files
limit 'one daemon, files' messages 4
stop_daemons || fail "not drained"

# ---- libfabric ----
# One start of the library, whose verbs provider (1.17) reads the kernel's symbols twice; one
# endpoint, the owner's or the other rank's.
export ZCACHE_LOCAL=false ZCACHE_LOG=debug
run files 3
for rank in 0 1; do
    read -r _ kallsyms < <(grep '^kallsyms ' "$tmp/count.$rank")
    ((kallsyms <= 2)) || fail "rank $rank reads /proc/kallsyms $kallsyms times"
    endpoints=$(grep -c "rank $rank debug: fabric: libfabric" "$tmp/log")
    ((endpoints <= 1)) || fail "rank $rank has $endpoints endpoints of libfabric"
done
exit "$failed"
