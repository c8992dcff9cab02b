#!/usr/bin/env bash
# hosts.sh RESULTS [CASE ...] - daemons on two other hosts, played by namespaces; the network or a
# host fails under a job that checks all it reads.  Appends a line for each case to RESULTS, as
# check-faults --judge does.  For root; skipped with a reason otherwise (status 77).
here=$(cd "$(dirname -- "$0")" && pwd)
# shellcheck source=tests/hosts/functions.sh
. "$here/../hosts/functions.sh"
results=$1
shift
hosts_up 3
stamped=${STAMPED:-$build/tests/faults/stamped}
preload=$build/tests/.libs/yieldshim.so:$build/adio_zcache/.libs/libzcache.so
requires test -e "$build/adio_zcache/.libs/libzcache.so"
mpiexec=${MPIEXEC:-$(command -v mpiexec.mpich || echo mpiexec)}
hints=(cb_nodes=2 "cb_config_list=*:2" zcache_block_size=256K zcache_cache_size=16M)
bound=300

# daemon_on HOST I: starts daemon I, which expects as much silence as the job.
daemon_on() {
    local number=${1#h}

    on "$1" env ZCACHE_LOG=warn "$build/iod/zcached" --address-file "$dir/$2.addr" --root "$dir/root" \
        --listen "$net.$((number + 1))" --timeout "$timeout" --page-size 64K --cache-size 16M \
        --idle-time 0 --high-watermark 90% --low-watermark 80% </dev/null >>"$dir/$2.log" 2>&1 &
    daemons[$2]=$! hosts[$2]=$1
    wait_for 60 grep -qsx "host $1" "$dir/$2.addr" || fail "daemon $2 on $1: $(cat "$dir/$2.log")"
}

turns() { cat "$dir/turns" 2>/dev/null | wc -l; }
has_turns() { (($(turns) >= $1)) || gone "$job"; }
more_turns() { wait_for "$bound" has_turns $(($(turns) + $1)) && ! gone "$job"; }
was_told() { cat "$dir"/rank.? | grep -q '^\(end\|read\|told\) .* [1-9][0-9]* [A-Z]'; }

# begin CASE TIMEOUT
begin() {
    dir=$tmp/$1 timeout=$2 daemons=() hosts=()
    mkdir -p "$dir/root"
    daemon_on h1 0
    daemon_on h2 1
    on h0 env ZCACHE_DAEMONS="$dir/0.addr,$dir/1.addr" ZCACHE_TIMEOUT="$timeout" "$mpiexec" -n 3 \
        -genv LD_PRELOAD "$preload" "$stamped" soak "zcache:$dir/root/f" "$dir" 600 1 "${hints[@]}" \
        </dev/null >"$dir/job.log" 2>&1 &
    job=$!
    more_turns 3 || fail "$1: it does not begin: $(cat "$dir/job.log")"
}

# finish CASE PROMISED: waits for the job; the live daemons write back what they have.
finish() {
    local status hang=() i

    touch "$dir/stop"
    wait_for "$bound" gone "$job" || hang=(--hang "the job does not end")
    kill -KILL "$job" 2>/dev/null
    wait "$job"
    status=$?
    for i in "${!daemons[@]}"; do
        gone "${daemons[i]}" && continue
        on "${hosts[i]}" kill -TERM "$(sed -n 's/^pid //p' "$dir/$i.addr")"
        wait_for "$bound" gone "${daemons[i]}" || hang=(--hang "daemon $i does not end")
    done
    "$here/check-faults" --judge "$dir" --name "$1" --promised "$2" --status "$status" \
        "${hang[@]}" >>"$results"
    [[ ${IOD_KEEP:-} ]] || rm -rf "$dir"
}

# Down for less than the time-out: the job waits.
link_down_and_up() {
    begin "$1" 30s
    ip link set p1 down
    sleep 3
    ip link set p1 up
    more_turns 8
    finish "$1" right
}

# Down for longer: the daemon counts as failed, which is reported; afterwards calls work again.
link_down_for_long() {
    begin "$1" 5s
    ip link set p1 down
    wait_for "$bound" was_told
    ip link set p1 up
    more_turns 8
    finish "$1" told
}

# No packet arrives at either daemon host, and the links are up.
partition() {
    begin "$1" 5s
    unreachable h1
    unreachable h2
    wait_for "$bound" was_told
    ip link set p1 master zc0
    ip link set p2 master zc0
    more_turns 2
    finish "$1" told
}

# The same, and over before the time-out.
partition_healed() {
    begin "$1" 30s
    unreachable h1
    unreachable h2
    sleep 3
    ip link set p1 master zc0
    ip link set p2 master zc0
    more_turns 8
    finish "$1" right
}

# 8 Mbit/s; the other links have full speed.
slow_link() {
    begin "$1" 10s
    tc qdisc add dev p1 root tbf rate 8mbit burst 64kb latency 1s || {
        echo "left out: slow-link (no tbf in this kernel)"
        touch "$dir/stop"
        wait "$job"
        return
    }
    more_turns 3
    tc qdisc del dev p1 root
    finish "$1" right
}

host_dies() {
    kill -KILL "${holder[h1]}"
    wait_for 30 gone "${daemons[0]}" || fail "daemon 0 outlives its host"
    unset 'daemons[0]'
}

no_p1() { ! ip link show p1 >/dev/null 2>&1; }

# Recovers, for the cases that follow.
host_lives() {
    wait_for 30 no_p1 || fail "h1 is not gone"
    rm -f "$tmp/net/h1.ready"
    host_up h1 1
    on h0 ip neigh flush dev eth0 # it has another address below that of IP
    on h2 ip neigh flush dev eth0
}

# A host dies with its daemon, and a spare takes its place; the dead one comes back empty.
host_replaced() {
    begin "$1" 30s
    host_dies
    daemon_on h3 0
    more_turns 8
    finish "$1" right
    host_lives
}

# The same without a spare.
host_lost() {
    begin "$1" 5s
    host_dies
    wait_for "$bound" was_told
    finish "$1" told
    host_lives
}

cases=(link-down-and-up link-down-for-long partition partition-healed slow-link host-replaced
    host-lost)
(($#)) || set -- "${cases[@]}"
for case; do
    declare -F "${case//-/_}" >/dev/null || fail "no such case: $case"
    "${case//-/_}" "$case"
done
