#!/usr/bin/env bash
# ulimit -t: near the limit on processor time a daemon writes back and ends.
. "$(dirname -- "$0")/functions.sh"

zcput=$build/tests/daemon/zcput
size=4M

make_tmp
cd "$tmp" || exit 99
mkdir root
quiet=(--root root --cache-size 64M --high-watermark 100 --low-watermark 99 --idle-time 0)

# limits_are GIVEN SOFT HARD [OPTION ...]: what a daemon makes of ulimit -t GIVEN.
limits_are() {
    local pid

    (
        cleanup_fns=()
        [[ $1 == unlimited ]] || ulimit -t "$1"
        exec "$zcached" "${quiet[@]}" --address-file "$tmp/1.addr" "${@:4}" 2>log
    ) &
    pid=$!
    cleanup_fn "kill -KILL $pid 2>/dev/null"
    wait_for 60 test -e 1.addr || fail "ulimit -t $1: no daemon: $(cat log)"
    expect 0 "$2 $3" awk '/^Max cpu time/ { print $4, $5 }' "/proc/$pid/limits"
    kill -TERM $pid
    wait $pid || fail "ulimit -t $1: status $?: $(cat log)"
}
limits_are 1000 950 1000
limits_are 10 9 10
limits_are 20 15 20 --cache-size 2G # a GiB may take 2 s
limits_are 6 3 6 --cache-size 2G
limits_are unlimited unlimited unlimited

# A daemon that reaches the soft limit, after which the kernel sends a signal every second.
start_daemon 0 "${quiet[@]}" --grace 1h
"$zcput" leave 0.addr "$tmp/root/last" $size </dev/null >out 2>&1 || fail "the client: $(cat out)"
requires command -v prlimit
prlimit --pid "${daemon_pids[0]}" --cpu=1:1000
ZCPUT_SALT=1 "$zcput" forever 0.addr "$tmp/root/other" $size </dev/null >out 2>&1 &
client=$!
cleanup_fn "kill -KILL $client 2>/dev/null"
wait_for 60 gone "${daemon_pids[0]}" || fail "SIGXCPU does not end it: $(cat 0.log)"
stop_daemon 0 || fail "status $? after SIGXCPU: $(cat 0.log)"
expect 0 "*the limit on processor time (ulimit -t) is almost reached: stopping*" cat 0.log
"$zcput" check root/last $size || fail "not all is written back before its end"
