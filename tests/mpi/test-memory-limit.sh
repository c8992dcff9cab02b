#!/usr/bin/env bash
# Default sizes follow the limits on memory: in a control group of 200 MB a job runs with defaults,
# embedded and through a daemon; ulimit -v counts as well; what is given and does not fit is warned
# of.  The limits themselves are in unit/test_memory_limit.
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

[[ ! $sanitizer ]] || {
    echo "skipped: a sanitizer takes more memory than the limit"
    exit 77
}
make_root
cd "$tmp" || exit 99

# ---- ulimit -v, for a daemon alone ----
limited() { # COMMAND ...
    (ulimit -v 800000 && exec "$@")
}
log_of() { # OPTION ...
    local pid

    limited "$zcached" --root root --address-file "$tmp/0.addr" "$@" 2>log &
    pid=$!
    cleanup_fn "kill -KILL $pid 2>/dev/null"
    wait_for 60 test -e 0.addr || fail "no daemon: $(cat log)"
    "$zcachectl" --daemons 0.addr stop >/dev/null || fail "daemon: not stopped: $(cat log)"
    wait "$pid" || fail "daemon: status $?: $(cat log)"
}
log_of --log info
if ! grep -q 'the least is .* (ulimit -v)' log; then
    echo "skipped: less than 781 MiB are allowed here: $(grep 'the least is' log)"
    exit 77
fi
grep -q 'the least is 781.3 MiB (ulimit -v); cache size 195M' log || fail "ulimit -v: $(cat log)"
log_of --log info --cache-size 600M
grep -q 'cache size 600M' log && ! grep -q 'does not fit' log || fail "600M of 781: $(cat log)"
cache=$(($(sed -n 's/^MemTotal: *\([0-9]*\) kB/\1/p' /proc/meminfo) / 1024))
((cache < 1000)) || {
    (
        cleanup_fns=()
        ulimit -v 800000
        "$zcached" --root root --address-file "$tmp/1.addr" --cache-size 790M >log 2>&1
    )
    grep -q 'cache size 790M does not fit into 781.3 MiB (ulimit -v)' log ||
        fail "790M of 781: $(cat log)"
}

# ---- a control group, for job and daemon ----
bytes=200000000
make_group() {
    local top

    for top in /sys/fs/cgroup/memory /sys/fs/cgroup; do
        group=$top/zcache-test.$$
        mkdir "$group" 2>/dev/null || continue
        cleanup_fn "rmdir '$group'"
        [[ -e $group/cgroup.procs ]] || continue # no control group
        { echo $bytes >"$group/memory.limit_in_bytes"; } 2>/dev/null && return
        { echo $bytes >"$group/memory.max"; } 2>/dev/null && return
    done
    return 1
}
# What is written to a tmpfs is memory of the group.
[[ $(stat -f -c %T "$tmp") != tmpfs ]] || {
    echo "the rest is left out: $tmp is a tmpfs"
    exit 0
}
make_group || {
    echo "the rest is left out: no control group with a limit on memory can be made here"
    exit 0
}
# Swapping would hide what is too much.
{ echo $bytes >"$group/memory.memsw.limit_in_bytes" || echo 0 >"$group/memory.swap.max"; } \
    2>/dev/null

in_group() { (echo $BASHPID >"$group/cgroup.procs" && exec "$@"); }
# A program that writes and reads more than it may have, and checks it.
job=("$mpiexec" -n 2 "$build/simpario/simpario" -f "zcache:$tmp/root/f" --phases 32 --record 4M
    --access collective --posix-verify "$tmp/root/f")
# in_job SIZE OPTION ...: each owner's cache is an eighth of the limit over the number of owners.
in_job() {
    local each=$1

    shift
    stretch 200
    LD_PRELOAD=${preload%"$plugin"} ZCACHE_LOG=info in_group timeout -k 5 "$stretched" \
        "$zcache" run --state "$tmp/state" --keep --root root "$@" -- "${job[@]}" >out 2>&1 \
        </dev/null || fail "$*: status $?: $(tail -n 30 out)"
    grep -q 'verified  256 MiB through MPI-IO, 256 MiB through POSIX' out || fail "$*: $(cat out)"
    grep -q "cache size $each, not 128M: a part of 190.7 MiB (/sys" out ||
        fail "$*: aggregators: $(cat out)"
    rm -f root/f
}
job+=(--hint "cb_config_list=*:2" --hint cb_nodes=2)
in_job 11M --daemons 0
rm -rf state
job=("${job[@]:0:${#job[@]}-4}")
in_job 23M
grep -q 'the least is 190.7 MiB (/sys/fs/cgroup/.*); cache size 47M' state/0.log ||
    fail "a daemon: $(cat state/0.log)"

# A cache has room for two pages, which large blocks have many of.
rm -rf state
job+=(--hint striping_unit=64M)
in_job 23M --daemons 0
