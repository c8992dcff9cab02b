#!/usr/bin/env bash
# hosts.sh - two compute hosts and an I/O host: what computing hides of writing, over a network.
#
#     hosts.sh [--quick] [--repeats N] [--json FILE] [option ...]
#
# Three hosts, which namespaces play, on a bridge; half of the ranks on each compute host.  They
# compute and write in turn, collectively, their pieces interleaved in one file on slowfs, which
# all hosts have mounted.  ROMIO goes to that directly, and so does zcache without a daemon; with
# one, on the I/O host, all bytes take that host's link first, which the others do not.
#
# Each process opens several new files, one after the other: the first open makes the connections
# between hosts.  Printed for the first one and for later ones: the time from open to close, that
# as a ratio to ROMIO's (below 1 is better), and what of it open, first access and close took.
# Only root can make such hosts.  All of them share the cores of this one.
#
#     --ranks N           4            --opens N           2, by each process
#     --phases N          20           --compute SECONDS   0.1, in each phase
#     --record SIZE       1M           --piece SIZE        4K
#     --compute-by HOW    spin, or sleep where there are more ranks than cores
#     --rate RATE         bits/s of each host's link, either way, such as 10G; 0, no limit
#     --delay TIME        of all that a host sends, such as 50us, where the kernel has netem; 0us
#     --write-rate RATE   200M         --op-us N  50       --latency-us N  200
#     --timeout SECONDS   120, for one run
set -u
# shellcheck source=tests/bench/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"
opt+=([ranks]=4 [opens]=2 [phases]=20 [record]=1M [piece]=4K [compute]=0.1 [compute-by]=
    [rate]=0 [delay]=0us [write-rate]=200M [op-us]=50 [latency-us]=200)
quick+=([phases]=10)
kinds+=([rate]=rate [delay]=delay)
bench_like[delay]='[0-9]+[um]s'
bench_unlike[delay]='a time such as 50us'
bench_options "$@"
((opt[ranks] > 1)) || bench_misuse "--ranks ${opt[ranks]}: two hosts want two or more"
((opt[opens] > 1)) || bench_misuse "--opens ${opt[opens]}: there is no later one"
: "${opt[compute-by]:=$(bench_compute_by "${opt[ranks]}")}"
if [[ -n ${opt[json]} ]]; then opt[json]=$(realpath -- "${opt[json]}"); fi
((EUID == 0)) || bench_skip "needs root, to make hosts of namespaces"

# The hosts live in a world that runs this script again and ends with it.  Its unshare heeds
# neither INT nor TERM: these are passed on to what it runs.
if [[ -z ${ZC_HOSTS_WORLD:-}${ZC_BENCH_WORLD:-} ]]; then
    tell_world() {
        local pids

        read -ra pids <"/proc/$world/task/$world/children"
        kill -TERM "$world" "${pids[@]}"
    } 2>/dev/null
    ZC_BENCH_WORLD=1 setpriv --pdeathsig KILL "${BASH:-bash}" "$0" "$@" &
    world=$!
    trap tell_world HUP INT TERM
    until wait "$world"; status=$?; gone "$world"; do :; done
    exit "$status"
fi
unset ZC_BENCH_WORLD
# shellcheck source=tests/hosts/functions.sh
. "$bench_dir/../hosts/functions.sh"

variants=(
    'ufs: directly          | ufs    |   |'
    'zcache: embedded       | zcache |   |'
    'zcache: through daemon | zcache | 0 |'
)

# ---- the hosts: h0 launches, h1 and h2 compute, h3 has the daemon ---------------------------
# A host sees the mounts that there were when it was made, and a /dev/shm of its own.
mount_store() {
    memory=$tmp/memory
    mkdir "$memory"
    cleanup_fn "umount -l '$memory' 2>/dev/null"
    mount -t tmpfs zcache-bench "$memory" || bench_skip "mounting is not allowed here"
    bench_slowfs --write-rate "${opt[write-rate]}" --op-us "${opt[op-us]}" \
        --latency-us "${opt[latency-us]}"
}

# Both ends of a host's link have the rate; what the host sends has the delay, too.
shape_links() {
    local i rate=() delay=()

    if [[ ${opt[rate]} =~ [1-9] ]]; then rate=(rate "${opt[rate]}bit"); fi
    if [[ ${opt[delay]} =~ [1-9] ]]; then delay=(delay "${opt[delay]}" limit 100000); fi
    for i in 1 2 3; do
        if ((${#rate[@]})); then limit "p$i"; fi
        if ((${#delay[@]})); then
            on "h$i" tc qdisc add dev eth0 root netem "${delay[@]}" "${rate[@]}" ||
                bench_skip "--delay: this kernel has no netem"
        elif ((${#rate[@]})); then
            limit eth0 on "h$i"
        fi
    done
}

# limit DEVICE [on HOST]
limit() {
    "${@:2}" tc qdisc add dev "$1" root tbf "${rate[@]}" burst 1mb latency 50ms ||
        bench_skip "--rate ${opt[rate]}: tc says no, or this kernel has no tbf"
}

# $MPIEXEC starts ranks from h0; hydra would have them on h1 and h2 by ssh.
launcher() {
    local each=$(((opt[ranks] + 1) / 2))

    cat >"$tmp/ssh" <<END
#!/bin/sh
[ "\$1" != -x ] || shift
host=\$1
shift
exec "$remote" "\$host" "\$*" </dev/null
END
    cat >"$tmp/mpiexec" <<END
#!/bin/sh
exec nsenter -t ${holder[h0]} -m -u -i -n --wd="$tmp" -- "${MPIEXEC:-mpiexec.mpich}" \\
    -launcher ssh -launcher-exec "$tmp/ssh" -hosts h1,h2 -ppn $each "\$@"
END
    chmod +x "$tmp/ssh" "$tmp/mpiexec"
    MPIEXEC=$tmp/mpiexec
    also=$build/tests/.libs/endshim.so
    [[ -e $also ]] || bench_skip "this build has no endshim (make programs)"
}

begin_daemon() {
    on h3 "$zcached" --address-file "$tmp/0.addr" --root "$slow" --listen "$net.4" \
        </dev/null >"$tmp/0.log" 2>&1 &
    daemon=$!
    wait_for 60 up_or_gone && ! gone "$daemon" || fail "no daemon: $(<"$tmp/0.log")"
}

up_or_gone() { grep -qsx "host h3" "$tmp/0.addr" || gone "$daemon"; }

end_daemon() {
    on h3 kill -TERM "$(sed -n 's/^pid //p' "$tmp/0.addr")"
    wait_for "${opt[timeout]}" gone "$daemon" && wait "$daemon"
}

# ---- the runs -------------------------------------------------------------------------------
# In place of that of functions.sh: of all opens.
bench_sample() {
    jq -L "$bench_dir" -ec --arg case "$1" --arg variant "$2" --argjson before "$3" \
        'include "bench"; opens($case; $variant; $before)' "$tmp/run.json" >>"$samples" \
        2>>"$tmp/run.log"
}

bench_start "${opt[ranks]}"
mount_store
hosts_up 3
unset ZCACHE_SSH # zcached would wonder
shape_links
launcher
begin_daemon
bench_turns hosts "$slow" "$memory/slow" "${opt[ranks]}" --phases "${opt[phases]}" \
    --record "${opt[record]}" --pattern interleaved --piece "${opt[piece]}" \
    --compute "${opt[compute]}" --compute-by "${opt[compute-by]}" --repeat "${opt[opens]}"
end_daemon || bench_problem "the daemon did not drain: $(tail -n 3 "$tmp/0.log")"
slowfs_unmount "$slow" || bench_problem "slowfs ended with status $?"

store="slowfs, ${opt[write-rate]} bytes/s, ${opt[op-us]} us per request, ${opt[latency-us]} us round trip"
work="${opt[phases]} phases of ${opt[compute]} s (${opt[compute-by]}) and ${opt[record]} per rank, pieces of ${opt[piece]}, collective"
links="no limit"
if [[ ${opt[rate]} =~ [1-9] ]]; then links="${opt[rate]} bits/s"; fi
if [[ ${opt[delay]} =~ [1-9] ]]; then links+=", ${opt[delay]} late"; fi
bench_results store="$store" work="$work" links="$links"
bench_add '.cases[].variants |= (. as $all | map(.of_ufs = {
    first: ratio($all; $all[0].variant; "first_total_s"),
    later: ratio($all; $all[0].variant; "later_total_s")}))'
echo "${opt[ranks]} ranks on two hosts, $work"
echo "links: $links; store: $store"
echo "layout: $(bench_layout)"
echo "median (lowest-highest) of ${opt[repeats]} repetitions in turn, verified; seconds"
jq -r '[.cases[].variants[].metrics.ideal_s | select(.)][0] | select(.)
    | "best possible from open to close: max(compute, bytes / bandwidth) = \(.median * 1000 | round / 1000) s"' \
    <<<"$results"
bench_table '|open to close|of ufs|open|first access|close' '
    .cases[].variants as $all | ("first", "later") as $open | $all[]
    | .metrics as $m | def of(what): $m["\($open)_\(what)_s"];
      ["\($open) open, \(.variant)", (of("total") | s(2)), (.of_ufs[$open] | n(2)),
       (of("open") | s(3)), (of("access") | s(3)), (of("close") | s(3))]'
bench_end
