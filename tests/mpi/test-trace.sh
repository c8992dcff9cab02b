#!/usr/bin/env bash
# zcache run --trace: the activity of ranks and daemons is one trace, with everything that the
# picture shows, also of ranks that were killed; and spans of a thread are nested.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"
needs_plugin "zcache run preloads it"
requires command -v jq
simpario=$build/simpario/simpario

make_root
cd "$tmp" || exit 99
export XDG_RUNTIME_DIR=$tmp mpiexec simpario
unset SLURM_JOB_ID

# has NAME ...: such events are in the trace, of processes of that KIND.
has() { # KIND NAME ...
    local kind=$1 name

    shift
    for name; do
        jq -e --arg kind "$kind" --arg name "$name" '
            (.traceEvents | map(select(.name == "process_name" and (.args.name | startswith($kind)))
                .pid)) as $them
            | [.traceEvents[] | select(.name == $name and (.pid | IN($them[])))] | length > 0' \
            trace.json >/dev/null || fail "no \"$name\" of $kind: $(kinds)"
    done
}
kinds() { jq -r '.traceEvents[] | "\(.pid) \(.name)"' trace.json | sort | uniq -c; }

# Each span of a thread lies within the one open at its begin, or behind it; none is longer than the
# run, and asynchronous spans end.
sound() {
    jq -e '[.traceEvents[] | select(.ph == "b")] as $b | [.traceEvents[] | select(.ph == "e")] as $e
        | ($b | map(.id) | sort) == ($e | map(.id) | sort)' trace.json >/dev/null ||
        fail "what begins aside does not end"
    jq -e '[.traceEvents[] | select(.ph == "X") | .ts >= -1e6 and .ts < 600e6 and .dur >= 0] | all' \
        trace.json >/dev/null || fail "a time that cannot be: $(jq -c '.traceEvents[]' trace.json)"
    jq -r '.traceEvents[] | select(.ph == "X") | [.pid, .tid, .ts, .dur, .name] | @tsv' trace.json |
        sort -t $'\t' -k1,1n -k2,2n -k3,3g -k4,4gr | awk -F '\t' '
            $1 != pid || $2 != tid { n = 0; pid = $1; tid = $2 }
            {
                while (n && end[n] <= $3 + 0.002) n--
                if (n && $3 + $4 > end[n] + 0.002) { print "across its end: " $0; bad = 1 }
                end[++n] = $3 + $4
            }
            END { exit bad }' || fail "spans of a thread overlap"
}

# Two ranks, the second of which has to send its bytes; caches that are too small for them.
# shellcheck disable=SC2016 # the inner shell's
"$zcache" run --root "$root" --cache-size 4M --state "$tmp/state" --trace trace.json -- sh -c '
    "$mpiexec" -n 2 "$simpario" -f "$0" --quiet --no-reference --phases 8 --record 2M --sync \
        --hint zcache_block_size=64K --hint zcache_cache_size=1M --hint cb_nodes=1' \
    "zcache:$root/f" >out 2>&1 </dev/null || fail "run: $(<out)"
grep -q '^zcache: trace of 3 processes in .*/trace.json: [0-9]* events$' out || fail "$(<out)"
[[ ! -e state ]] || fail "left: $(find state)"
jq -e '.traceEvents | length > 100' trace.json >/dev/null || fail "no trace: $(<trace.json)"
has "rank 0, aggregator" "MPI open" "MPI write" "MPI read" "MPI sync" "MPI close" exchange \
    "wait for room" "wait for page" "store write" "store read" write-back flush wire
has "rank 1" "MPI write" exchange wire
has zcached "store write" write-back flush "store sync"
sound

# Sequential reads from cold caches: there is readahead.
"$zcache" run --root "$root" --trace trace.json --state "$tmp/state" -- "$mpiexec" -n 1 "$simpario" \
    -f "zcache:$root/g" --quiet --no-reference --phases 16 --record 1M >out 2>&1 </dev/null ||
    fail "run: $(<out)"
jq -e '[.traceEvents[] | select(.name == "prefetch")] | length > 0' trace.json >/dev/null ||
    fail "nothing is read ahead: $(kinds)"

# Killed in the middle: their events are there all the same.
"$zcache" run --root "$root" --trace trace.json --state "$tmp/state" -- "$mpiexec" -n 2 "$simpario" \
    -f "zcache:$root/h" --write --quiet --no-reference --phases 2000 --record 64K --compute 0.02 \
    --compute-by sleep >out 2>&1 </dev/null &
launcher=$!
cleanup_fn "kill -KILL $launcher 2>/dev/null"
ranks() { pgrep -f "simpario -f zcache:$root/h --write" | while read -r pid; do
    [[ ! -e $(echo state/zcache.run.*/trace/"$HOSTNAME-$pid.events") ]] || echo "$pid"
done; }
both_write() { (($(ranks | wc -l) == 2)) && [[ -s $root/h ]]; }
wait_for 60 both_write || fail "no ranks: $(find state) $(<out)"
mapfile -t pids < <(ranks)
# mpiexec kills the other: if both die at once, that of MPICH 4.2 may exit with 0 silently.
kill -KILL "${pids[0]}"
wait "$launcher" && fail "the status is 0, and ranks were killed"
has "rank 0" "MPI open" "MPI write"
has "rank 1" "MPI write"
has zcached write-back
sound

# A missing directory is a usage error, at once.
expect 2 "zcache: --trace: $tmp/no/trace.json cannot be written; *" \
    "$zcache" run --root "$root" --trace no/trace.json -- true
