#!/usr/bin/env bash
# Ranks in PID namespaces, one for each as in containers, use a daemon of the host and each other's
# caches; ranks of the host use a daemon in a container.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

user=()
((EUID == 0)) || user=(--user --map-root-user)
new=(unshare "${user[@]}" --mount --pid --fork --mount-proc)
"${new[@]}" true 2>/dev/null || {
    echo "skipped: no PID namespaces here (unshare)"
    exit 77
}
# MPI's own messages: no memory of other processes, nor TCP, with which UCX 1.13 stood in
# MPI_Finalize once in 140 runs, one rank in its endpoints' end, the other in MPICH's barrier.
export UCX_TLS=${UCX_TLS:-sysv,self}
# The shared memory of Open MPI is named by process ids.
export OMPI_MCA_btl=self,tcp
make_root
run() { # WHAT COMMAND ...: two ranks, each by the command
    local what=$1

    shift
    timeout -k 5 "$mpi_timeout" "$mpiexec" -n 2 -genv LD_PRELOAD "$sanitizer$preload" \
        "$@" "$programs/t_io" "zcache:$root/f" >"$tmp/out" 2>&1 </dev/null ||
        fail "$what: $(cat "$tmp/out")"
}

# Rank 0 in a time namespace: start times of processes are others there.
in_time=(bash -c '[[ ${PMI_RANK-$OMPI_COMM_WORLD_RANK} == 0 ]] || exec "$@"
    exec unshare '"${user[*]}"' --time --boottime 123456 \
    --monotonic 123456 --fork "$@"' -)
timed=
if unshare "${user[@]}" --time --boottime 123456 --monotonic 123456 --fork true 2>/dev/null; then
    timed=1
else
    echo "left out: no time namespaces here (unshare)"
fi

run "no namespaces" env
[[ ! $timed ]] || run "rank 0 in a time namespace, no daemon" "${in_time[@]}"
run "each rank in its own, no daemon" "${new[@]}"
start_daemons 1
run "each rank in its own, a daemon of the host" "${new[@]}"
[[ ! $timed ]] || run "rank 0 in a time namespace, a daemon of the host" "${in_time[@]}"
cp "$tmp/0.addr" "$tmp/before"
stop_daemons || fail "the daemon of the host"

# shellcheck disable=SC2086 # options, as start_daemon has them
"${new[@]}" "$zcached" --address-file "$tmp/1.addr" ${TEST_DAEMON_OPTIONS:-} --root "$root" \
    2>"$tmp/1.log" &
daemon_pids[1]=$!
is_there() { [[ -s $tmp/1.addr ]]; }
wait_for 60 is_there || fail "no daemon in a namespace: $(cat "$tmp/1.log")"
export ZCACHE_DAEMONS=$tmp/1.addr
run "ranks of the host, a daemon in a namespace" env
run "each rank in its own, the daemon, too" "${new[@]}"
"$zcachectl" --daemons "$tmp/1.addr" stop || fail "cannot stop the daemon in a namespace"
wait "${daemon_pids[1]}" || fail "status $? of the daemon: $(cat "$tmp/1.log")"
daemon_pids=()
